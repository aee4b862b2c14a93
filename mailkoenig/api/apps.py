from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "mailkoenig.api"
    label = "api"
    verbose_name = "API"
