"""Everything that comes back from the provider, append-only."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from campaigns.models import Message, Recipient, SenderDomain


class Event(models.Model):
    """One thing the provider says happened to one mail."""

    class Source(models.TextChoices):
        WEBHOOK = "webhook"
        POLL = "poll"

    provider = models.CharField(max_length=20)
    domain = models.CharField(max_length=253, blank=True, default="", db_default="")
    provider_event_id = models.CharField(max_length=200)
    # Mailgun promises an id to be unique within a day only, so the day is part of the key.
    day = models.DateField(help_text="UTC day of occurred_at.")
    event_type = models.CharField(max_length=20)
    severity = models.CharField(max_length=20, blank=True, default="", db_default="")
    reason = models.TextField(blank=True, default="", db_default="")
    address = models.CharField(max_length=320, blank=True, default="", db_default="")
    # No foreign key in the database: an event may come for mail that we do not know, or no longer.
    campaign_recipient = models.ForeignKey(
        Recipient,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="events",
        db_constraint=False,
    )
    message = models.ForeignKey(
        Message,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="events",
        db_constraint=False,
        db_index=False,
    )
    batch_id = models.UUIDField(null=True, blank=True)
    source = models.CharField(max_length=7, choices=Source, default=Source.WEBHOOK, db_default=Source.WEBHOOK)
    raw_payload = models.JSONField()
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "email_events"
        constraints = [
            # With the type: two things that happened are never one, should a provider give them the same id.
            models.UniqueConstraint(
                fields=["provider", "domain", "provider_event_id", "day", "event_type"], name="event_once"
            ),
        ]
        indexes = [
            # The list's search for the beginning of an address.
            models.Index(name="event_address", fields=["address"], opclasses=["varchar_pattern_ops"]),
            # What happened to one message.
            models.Index(name="event_message", fields=["message"], condition=Q(message__isnull=False)),
            # The list filtered by a rare type; the common ones are found on the last pages of the primary key.
            models.Index(
                name="event_rare_type",
                fields=["event_type", "id"],
                condition=~Q(event_type__in=["accepted", "delivered", "opened", "clicked"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.provider_event_id}"


class WebhookToken(models.Model):
    """A signature that was used, and the body it came with.

    Mailgun signs time and token but not the body, so a signature that was seen may only carry the same body again.
    """

    token = models.CharField(max_length=100, primary_key=True)
    body_digest = models.BinaryField(max_length=32)
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "webhook_tokens"
        # events.sql.PRUNE_TOKENS
        indexes = [models.Index(name="token_seen", fields=["seen_at"])]

    def __str__(self) -> str:
        return self.token[:8]


class PollCursor(models.Model):
    """How far the provider's log of one domain has been read. The row is also the lease of who reads it."""

    domain = models.OneToOneField(
        SenderDomain, on_delete=models.CASCADE, primary_key=True, related_name="poll_cursor"
    )
    read_to = models.DateTimeField(
        help_text="All that the log showed up to here was read. The next reading begins some time earlier, for what it shows late."
    )
    position = models.DateTimeField(
        null=True, blank=True, help_text="How far the reading that is under way has come."
    )
    began_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it is under way; up to this moment it reads."
    )
    next_at = models.DateTimeField(db_default=Now(), help_text="When it is read next.")
    lease = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Readings in a row that got no answer."
    )
    finding = models.TextField(
        blank=True, default="", db_default="", help_text="Why it could not be read last time."
    )

    class Meta:
        db_table = "poll_cursors"
        verbose_name = "provider log"
        constraints = [
            models.CheckConstraint(
                name="poll_under_way_has_a_position_and_an_end",
                condition=Q(position__isnull=True, began_at__isnull=True)
                | Q(position__isnull=False, began_at__isnull=False),
            ),
            models.CheckConstraint(
                name="poll_leased_for_a_time",
                condition=Q(lease__isnull=True, lease_expires_at__isnull=True)
                | Q(lease__isnull=False, lease_expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"log of {self.domain_id}"
