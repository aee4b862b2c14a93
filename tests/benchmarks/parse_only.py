"""The site with a webhook that reads, verifies and parses an event and writes nothing: the bound of the real one."""

from mailkoenig.wsgi import application

# isort: split
# The apps are loaded now.
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from events.views import answer, reader
from mailkoenig.lib.request_body import read

__all__ = ["application", "urlpatterns"]


@csrf_exempt
def mailgun(request: HttpRequest) -> HttpResponse:
    """Do all that the real view does before it asks the database."""
    body = read(request, most=settings.WEBHOOK_MAX_BYTES)
    reader().read(body, content_type=request.content_type or "", now=timezone.now())
    return answer(200, "Read.")


urlpatterns = [path("webhooks/mailgun/", mailgun)]
settings.ROOT_URLCONF = __name__
