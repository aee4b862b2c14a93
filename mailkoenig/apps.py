from django.apps import AppConfig


class MailKoenigConfig(AppConfig):
    name = "mailkoenig"
    verbose_name = "Mail Koenig"

    def ready(self) -> None:
        from mailkoenig import checks  # noqa: F401 - registers the system checks
