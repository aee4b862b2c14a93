"""What a load balancer, a person or Prometheus asks: is it alive, can it work, how does it stand?"""

import hmac
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mailkoenig.monitoring import metrics, queries

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")
OK = "ok"


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while the process lives; asks nobody else."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when mail can leave: the database answers, has every table, and a worker lives; else 503 with the reason."""
    checks = {"database": "not asked", "migrations": "not asked", "worker": "not asked"}
    for name, check in (("database", database), ("migrations", migrations), ("worker", worker)):
        try:
            checks[name] = check()
        except (DatabaseError, InterfaceError):
            checks[name] = "The database does not answer."
        if checks[name] != OK:
            return JsonResponse({"ready": False, "reason": checks[name], "checks": checks}, status=503)
    return JsonResponse({"ready": True, "checks": checks})


def database() -> str:
    """Say whether the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def migrations() -> str:
    """Say whether it has every table."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "The database needs 'manage.py migrate'." if missing else OK


def worker() -> str:
    """Say whether a worker was seen within the last minute."""
    found = queries.workers()
    if any(one.is_alive for one in found):
        return OK
    return (
        f"No worker was seen within the last minute, the last one {min(one.seen for one in found):.0f} s ago: start run_sender."
        if found
        else "No worker was seen within the last minute: start run_sender."
    )


@require_safe
@never_cache
def figures(request: HttpRequest) -> HttpResponse:
    """Answer with what Prometheus reads, to whoever may."""
    if not may_read(request):
        answer = HttpResponse(
            "Send METRICS_TOKEN as a bearer token, or ask from one of METRICS_NETWORKS.\n",
            status=401,
            content_type="text/plain",
        )
        answer["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)


def may_read(request: HttpRequest) -> bool:
    """Say whether somebody may read the figures: by token, or by where the request came from without a proxy between."""
    if settings.DEBUG:
        return True
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if settings.METRICS_TOKEN and scheme.lower() == "bearer":
        return hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    # Through a proxy on this host everybody would seem to come from it.
    if any(request.META.get(header) for header in FORWARDED):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return any(address in ip_network(network) for network in settings.METRICS_NETWORKS)
