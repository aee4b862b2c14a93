"""Where everything hangs."""

from django.contrib import admin
from django.urls import include, path

from mailkoenig.monitoring import live
from mailkoenig.monitoring import views as monitoring

urlpatterns = [
    path("admin/live/", admin.site.admin_view(live.page), name="live"),
    path("admin/live/panel/", admin.site.admin_view(live.answer), name="live_panel"),
    path("admin/", admin.site.urls),
    path("healthz", monitoring.healthz),
    path("readyz", monitoring.readyz),
    path("metrics", monitoring.figures),
    path("", include("mailkoenig.api.urls")),
    path("", include("events.urls")),
    path("", include("contacts.urls")),
]
