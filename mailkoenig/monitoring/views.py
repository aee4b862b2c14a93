"""What a load balancer or a person asks: is it alive, can it work?"""

from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while the process lives; asks nobody else."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when the database answers and has every table; else 503 with what is missing."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except OperationalError:
        return JsonResponse({"ready": False, "reason": "The database does not answer."}, status=503)
    if missing:
        return JsonResponse({"ready": False, "reason": "The database needs 'manage.py migrate'."}, status=503)
    return JsonResponse({"ready": True})
