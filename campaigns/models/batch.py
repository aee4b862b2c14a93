import uuid
from functools import cached_property

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from campaigns.models.campaign import Campaign
from campaigns.models.message import Message
from campaigns.models.sender import SenderDomain
from campaigns.models.stream import Stream
from campaigns.models.version import ContentVersion
from mailkoenig.lib.counting import many, people


class SendBatch(models.Model):
    """The people of one provider call. Its id is the token of the lease and the marker that the provider keeps."""

    class State(models.TextChoices):
        LEASED = "leased"  # held by a worker, the call has not begun
        IN_FLIGHT = "in_flight", "in flight"  # the call may have begun
        ACCEPTED = "accepted"  # the provider took it
        RETURNED = "returned"  # not accepted; its people are ready again, failed or in smaller batches
        UNKNOWN = "unknown"  # perhaps accepted

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    stream = models.ForeignKey(Stream, on_delete=models.PROTECT, related_name="batches", db_index=False)
    campaign = models.ForeignKey(Campaign, null=True, on_delete=models.CASCADE, related_name="batches")
    # No foreign key: a message is pruned before its calls, and messages already point here.
    message_id = models.BigIntegerField(
        null=True, blank=True, help_text="The message, where it holds one alone: every call that it was in."
    )
    domain = models.ForeignKey(SenderDomain, on_delete=models.PROTECT, related_name="batches", db_index=False)
    worker = models.CharField(max_length=200)
    state = models.CharField(max_length=9, choices=State, default=State.LEASED, db_default=State.LEASED)
    size = models.PositiveIntegerField(default=0, db_default=0, help_text="People in it when it was claimed.")
    accepted = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Of these, taken by the provider."
    )
    answer = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="The provider's words, or what happened instead of an answer.",
    )
    answer_class = models.CharField(
        max_length=20,
        blank=True,
        default="",
        db_default="",
        help_text="The status of the provider's answer, such as 200 or 429, or what happened instead, such as timeout.",
    )
    provider_id = models.CharField(
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text="The provider's message id, without angle brackets.",
    )
    claimed_at = models.DateTimeField(db_default=Now())
    lease_expires_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True, help_text="Committed just before the call.")
    settled_at = models.DateTimeField(null=True, blank=True)
    version = models.ForeignKey(
        ContentVersion,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="batches",
        db_index=False,
        help_text="What its people were sent.",
    )
    asks = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="How often the provider's log was asked about it."
    )
    next_ask_at = models.DateTimeField(
        null=True, blank=True, help_text="When the log is asked next, while it is unknown."
    )
    lost_worker = models.BooleanField(
        default=False, db_default=False, help_text="Its worker was gone before the call had ended."
    )
    finding = models.TextField(
        blank=True, default="", db_default="", help_text="What the log said when it was asked last."
    )
    held_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when a person has to decide what became of it."
    )
    settled_by = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="The person who decided, if one did."
    )
    evidence_at = models.DateTimeField(
        null=True, blank=True, help_text="When an event of the provider first proved that it was accepted."
    )

    class Meta:
        db_table = "send_batches"
        verbose_name_plural = "send batches"
        constraints = [
            models.CheckConstraint(
                name="batch_state_is_known",
                condition=Q(state__in=["leased", "in_flight", "accepted", "returned", "unknown"]),
            ),
            models.CheckConstraint(
                name="batch_started_before_it_is_in_flight",
                condition=~Q(state__in=["in_flight", "unknown"]) | Q(started_at__isnull=False),
            ),
        ]
        indexes = [
            # campaigns.sql.STALE: only batches that somebody holds.
            models.Index(
                name="batch_open", fields=["lease_expires_at"], condition=Q(state__in=["leased", "in_flight"])
            ),
            # The function stream_room: what went out within the last minute.
            models.Index(name="batch_recent", fields=["stream", "started_at"]),
            # the admin's list of calls, the newest first.
            models.Index(name="batch_newest", fields=["-claimed_at"]),
            # campaigns.reports.ALL_SILENT: the few of campaigns among those of messages.
            models.Index(
                name="batch_of_campaign", fields=["claimed_at"], condition=Q(campaign__isnull=False)
            ),
            # campaigns.sql.unclear.ASK: the few whose outcome is not known.
            models.Index(name="batch_unclear", fields=["next_ask_at"], condition=Q(state="unknown")),
            # the admin's page of a message.
            models.Index(
                name="batch_of_message", fields=["message_id"], condition=Q(message_id__isnull=False)
            ),
            # events find the batch of a message that carries no variables of ours.
            models.Index(name="batch_provider_id", fields=["provider_id"], condition=~Q(provider_id="")),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @cached_property
    def message(self) -> Message | None:
        """The message that it holds alone, with its key and address only; None where there is none or it is not kept."""
        found = Message.objects.filter(pk=self.message_id) if self.message_id else Message.objects.none()
        return found.only("idempotency_key", "email").first()


class UnclearBatch(SendBatch):
    """A batch of which nobody knows yet whether the provider took it: the same rows, as a page of their own."""

    class Meta:
        proxy = True
        verbose_name = "unknown outcome"
        default_permissions = ("view",)
        permissions = [("settle_unclearbatch", "Can decide what became of a send without a clear answer")]

    def __str__(self) -> str:
        if self.campaign:
            return f"{people(self.size)} of {self.campaign}"
        return f"message {self.message}" if self.message else f"{many(self.size, 'message')} of {self.stream}"
