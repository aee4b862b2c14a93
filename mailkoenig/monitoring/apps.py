from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "mailkoenig.monitoring"
    label = "monitoring"
