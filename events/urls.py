"""Where the provider's events come in."""

from django.urls import path

from events import views

urlpatterns = [
    path("webhooks/mailgun/", views.mailgun, name="mailgun_webhook"),
    # Registered without its last slash it works too: a redirected POST would lose its body.
    path("webhooks/mailgun", views.mailgun),
]
