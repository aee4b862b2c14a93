from datetime import timedelta

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q


class Stream(models.Model):
    """A separately paced, paused and alerted flow of mail."""

    class Kind(models.TextChoices):
        CAMPAIGN = "campaign"
        TRANSACTIONAL = "transactional"

    class OnUnknown(models.TextChoices):
        RESEND = "resend"  # a repeated newsletter is an annoyance, a stalled one a support ticket
        HOLD = "hold"  # an unclear outcome never becomes an automatic duplicate

    name = models.SlugField(max_length=50, unique=True)
    kind = models.CharField(max_length=13, choices=Kind, default=Kind.TRANSACTIONAL)
    paused = models.BooleanField(default=False, db_default=False)
    paused_reason = models.TextField(blank=True, default="", db_default="")
    paused_by = models.CharField(max_length=150, blank=True, default="", db_default="")
    concurrency = models.PositiveIntegerField(
        default=16,
        db_default=16,
        validators=[MinValueValidator(1)],
        help_text="Calls at the same time, over all workers.",
    )
    rate_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Mails a minute, over all workers; empty for no limit.",
    )
    batch_size = models.PositiveIntegerField(
        default=1,
        db_default=1,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Most people a call.",
    )
    max_attempts = models.PositiveIntegerField(default=5, db_default=5, validators=[MinValueValidator(1)])
    lease = models.DurationField(
        default=timedelta(minutes=10),
        db_default=timedelta(minutes=10),
        help_text="How long a worker may hold a batch; longer than the slowest call.",
    )
    age_budget = models.DurationField(
        default=timedelta(minutes=3),
        db_default=timedelta(minutes=3),
        help_text="Page when the oldest ready mail is older.",
    )
    on_unknown = models.CharField(
        max_length=6, choices=OnUnknown, default=OnUnknown.HOLD, db_default=OnUnknown.HOLD
    )

    class Meta:
        db_table = "streams"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="stream_kind_is_known", condition=Q(kind__in=["campaign", "transactional"])
            ),
            models.CheckConstraint(
                name="stream_on_unknown_is_known", condition=Q(on_unknown__in=["resend", "hold"])
            ),
            models.CheckConstraint(
                name="stream_batch_size_within_provider_limit",
                condition=Q(batch_size__gte=1, batch_size__lte=1000),
            ),
            models.CheckConstraint(
                name="stream_limits_are_positive",
                condition=Q(concurrency__gte=1, max_attempts__gte=1, lease__gt=timedelta(0)),
            ),
        ]

    def __str__(self) -> str:
        return self.name
