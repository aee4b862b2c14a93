"""Who may use the API, and for what."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from campaigns.models import Stream


class ApiToken(models.Model):
    """A program's way in. Only a hash of the token is kept: whoever reads this table can't use it."""

    secret = ""  # of one that was made a moment ago, and in no column

    name = models.CharField(
        max_length=60, help_text="Who uses it, such as shop; messages and the audit trail name it."
    )
    visible = models.CharField("begins with", max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token.")
    streams = models.ManyToManyField(
        Stream,
        blank=True,
        db_table="api_token_streams",
        related_name="api_tokens",
        help_text="Whose mail it may write and read. A stream for campaigns allows campaigns.",
    )
    all_streams = models.BooleanField(
        default=False,
        db_default=False,
        help_text="All transactional streams, those made later included; campaigns only where chosen below.",
    )
    holds_contacts = models.BooleanField(
        "contacts and lists",
        default=False,
        db_default=False,
        help_text="It may see and change people and lists.",
    )
    can_stop_sending = models.BooleanField(
        "may stop all sending",
        default=False,
        db_default=False,
        help_text="The emergency stop, and its end. For a watchman, not for a shop.",
    )
    can_read = models.BooleanField("may read", default=True, db_default=True)
    can_write = models.BooleanField("may write", default=True, db_default=True)
    rate_per_minute = models.PositiveIntegerField(
        default=600,
        db_default=600,
        validators=[MinValueValidator(1), MaxValueValidator(100_000)],
        help_text="Requests a minute, over all web processes; what is more is answered with 429.",
    )
    minute_began_at = models.DateTimeField(db_default=Now(), editable=False)
    requests = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="In the minute that began then."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Noted once a minute at most."
    )
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        db_table = "api_tokens"
        ordering = ["-id"]
        verbose_name = "API token"
        constraints = [
            models.UniqueConstraint(
                name="api_token_name_once_in_use", fields=["name"], condition=Q(revoked_at__isnull=True)
            ),
            models.CheckConstraint(name="api_token_rate_is_positive", condition=Q(rate_per_minute__gte=1)),
        ]

    def __str__(self) -> str:
        return self.name
