from django.apps import AppConfig


class RehearsalConfig(AppConfig):
    """The whole system against the simulated provider, for people who want to see it before they trust it."""

    name = "mailkoenig.rehearsal"
    label = "rehearsal"
