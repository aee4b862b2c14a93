"""Where everything hangs."""

from django.contrib import admin
from django.urls import include, path

from mailkoenig.monitoring import views as monitoring

urlpatterns = [
    path("admin/", admin.site.urls),
    path("healthz", monitoring.healthz),
    path("readyz", monitoring.readyz),
    path("", include("mailkoenig.api.urls")),
    path("", include("events.urls")),
    path("", include("contacts.urls")),
]
