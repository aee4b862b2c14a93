from django.apps import AppConfig


class WorkerConfig(AppConfig):
    """The worker process: puts together what campaigns sends with and what events listens with."""

    name = "mailkoenig.worker"
    label = "worker"
