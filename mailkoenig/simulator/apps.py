from django.apps import AppConfig


class SimulatorConfig(AppConfig):
    """Here for its command; it has no tables and no pages of the site."""

    name = "mailkoenig.simulator"
    label = "simulator"
