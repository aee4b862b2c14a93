from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class SenderDomain(models.Model):
    """A domain that mail is sent from: a customer's own, or the one that all share while getting started."""

    class Status(models.TextChoices):
        ACTIVE = "active"  # mail may leave
        PAUSED = (
            "paused"  # the provider refuses it, or a person stopped it: nothing leaves until a person resumes
        )

    name = models.CharField(
        max_length=253, unique=True, help_text="As it is registered at the provider, such as mg.example.com."
    )
    is_shared = models.BooleanField(
        default=False, help_text="May be used by anybody who has no domain of their own yet."
    )
    status = models.CharField(max_length=6, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE)
    paused_reason = models.TextField(blank=True, default="", db_default="")
    batch_limit = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="At most this many people a call; empty for the stream's own size. Lowered when the provider asks for it.",
    )
    batch_limit_until = models.DateTimeField(
        null=True, blank=True, help_text="When a limit that the provider caused ends."
    )
    held_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="The provider asked us to wait until then."
    )
    probe_until = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="After a wait one call goes first; until then the others wait for it.",
    )
    held_reason = models.TextField(blank=True, default="", db_default="", editable=False)
    throttles = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Waits in a row without a call that worked."
    )
    throttled_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When the last of these waits was asked for."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "sender_domains"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="domain_status_is_known", condition=Q(status__in=["active", "paused"])
            ),
            models.CheckConstraint(
                name="domain_batch_limit_is_positive",
                condition=Q(batch_limit__isnull=True) | Q(batch_limit__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.name
