from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from mailkoenig.api.api import api
from mailkoenig.api.problems import Problem


@csrf_exempt
def nothing(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer for every address below that is none; nothing here is ever redirected to one with a slash."""
    return Problem(404, "There is nothing here: see /api/v1/docs for what there is.").response()


urlpatterns = [path("api/v1/", api.urls), path("api/<path:rest>", nothing), path("api", nothing)]
