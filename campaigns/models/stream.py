from datetime import timedelta
from zoneinfo import available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from campaigns.models.sender import SenderDomain


def site_zone() -> str:
    """Return the time zone of the site."""
    return settings.TIME_ZONE


def check_zone(name: str) -> None:
    """Raise ValidationError where nobody knows the time zone."""
    if name not in available_timezones():
        raise ValidationError(f"There is no time zone {name!r}: use a name such as Europe/Berlin or UTC.")


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
    draining = models.BooleanField(
        default=False, db_default=False, help_text="Sends what it holds and takes nothing new."
    )
    domain = models.ForeignKey(
        SenderDomain,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="streams",
        help_text="What its mail is sent from unless the caller names another; empty for the shared domain.",
    )
    sender = models.CharField(
        "from",
        max_length=320,
        blank=True,
        default="",
        db_default="",
        help_text="The From header unless the caller gives one, such as Shop <orders@example.com>.",
    )
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
    burst = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Of the mails a minute, so many may leave at once and the rest evenly; empty for all of them at once.",
    )
    daily_cap = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Mails a day, over all workers; empty for no limit.",
    )
    quiet_from = models.TimeField(null=True, blank=True, help_text="Nothing begins from this time of day on.")
    quiet_until = models.TimeField(null=True, blank=True, help_text="Until this time of day.")
    time_zone = models.CharField(
        max_length=50,
        default=site_zone,
        db_default="UTC",
        validators=[check_zone],
        help_text="Whose days and times these are, such as Europe/Berlin.",
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

    sends_to_complainers = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Mail also who has once called mail of ours spam; for what they asked for themselves, such as a password reset.",
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
            models.CheckConstraint(
                name="stream_is_quiet_from_and_until",
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
            ),
            models.CheckConstraint(
                name="stream_burst_is_of_a_rate",
                condition=Q(burst__isnull=True) | Q(burst__gte=1, rate_per_minute__isnull=False),
            ),
        ]
        permissions = [("stop_everything", "Can stop all sending at once, and let it go on")]

    def __str__(self) -> str:
        return self.name
