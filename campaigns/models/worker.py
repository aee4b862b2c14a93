from django.db import models
from django.db.models.functions import Now


class Worker(models.Model):
    """A worker process, as it last said it was; one that is gone for long is forgotten."""

    id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=200)
    streams = models.JSONField(
        default=list, db_default=[], help_text="The streams that it serves; empty for all."
    )
    doing = models.JSONField(
        default=dict, db_default={}, help_text="Open calls by stream, and whether it is woken or polls."
    )
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True, blank=True, help_text="When it ended in good order.")

    class Meta:
        db_table = "workers"

    def __str__(self) -> str:
        return self.name
