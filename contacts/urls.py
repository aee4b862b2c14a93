"""The page behind every unsubscribe link."""

from django.urls import path

from contacts import views

urlpatterns = [
    path("unsubscribe/<str:token>/", views.unsubscribe, name="unsubscribe"),
    # Without its last slash the link works too, and is not redirected: a redirected POST would become a GET.
    path("unsubscribe/<str:token>", views.unsubscribe),
]
