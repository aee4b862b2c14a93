from django.db import models
from django.db.models.functions import Now


class SentMessage(models.Model):
    """The durable fact that the provider took a mail, under the key of what caused it. It outlives the job."""

    idempotency_key = models.CharField(
        max_length=200, primary_key=True, help_text="Such as campaign-7:contact-42 or order-1842:receipt:v1."
    )
    batch_id = models.UUIDField()
    digest = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="Of a message: what it said, so that its key is not taken for another.",
    )
    accepted_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "sent_email"

    def __str__(self) -> str:
        return self.idempotency_key
