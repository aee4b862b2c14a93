from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from campaigns.models.campaign import Campaign
from campaigns.models.queue_row import QueueRow
from campaigns.models.sender import SenderDomain
from campaigns.models.stream import Stream


class Message(QueueRow):
    """One mail to one person under the caller's own key: what it says and the job at once. `status` is the queue."""

    class Status(models.TextChoices):
        PENDING = "pending", "ready"  # waits for a worker, not before next_attempt_at
        SENDING = "sending", "leased"  # held by a batch
        SENT = "sent", "accepted"  # the provider took it
        DELIVERED = "delivered"  # the reader's server took it
        BOUNCED = "bounced"  # the reader's server refused it for good
        COMPLAINED = "complained"  # the reader called it spam
        UNSUBSCRIBED = "unsubscribed"  # the reader left because of it
        FAILED = "failed"  # not accepted, and not tried again: a dead letter, until somebody requeues it
        SKIPPED = "skipped"  # the address may not be mailed
        EXPIRED = "expired"  # it could not leave before expires_at
        CANCELLED = "cancelled"  # the caller or a person took it back while it was ready
        UNKNOWN = "unknown"  # perhaps accepted: no answer reached us

    stream = models.ForeignKey(Stream, on_delete=models.PROTECT, related_name="messages", db_index=False)
    domain = models.ForeignKey(
        SenderDomain, on_delete=models.PROTECT, related_name="messages", db_index=False
    )
    idempotency_key = models.CharField(
        max_length=200, unique=True, help_text="What caused it, such as order-1842:receipt:v1."
    )
    digest = models.CharField(
        max_length=64, editable=False, help_text="SHA-256 over all that the caller gave."
    )
    email = models.CharField("to", max_length=254)
    sender = models.TextField("from", help_text="The From header.")
    reply_to = models.CharField(max_length=320, blank=True, default="", db_default="")
    subject = models.TextField()
    html = models.TextField(blank=True, default="", db_default="")
    text = models.TextField(blank=True, default="", db_default="")
    headers = models.JSONField(default=dict, db_default={}, blank=True)
    metadata = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="The caller's own; not sent to the provider."
    )
    tags = models.JSONField(default=list, db_default=[], blank=True, help_text="Names for reports.")
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="Not sent after this moment; what it says would be of no use."
    )
    source = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Who asked for it: an API token's name, or empty for our own code.",
    )
    repeats = models.PositiveIntegerField(
        default=0, db_default=0, help_text="How often it was asked for again under the same key."
    )
    status = models.CharField(
        max_length=12, choices=Status, default=Status.PENDING, db_default=Status.PENDING
    )
    due_at = models.DateTimeField(
        db_default=Now(),
        help_text="Since when it could have been sent; waits for another try do not move it.",
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "email_jobs"
        constraints = [
            *QueueRow.Meta.constraints,
            models.CheckConstraint(
                name="message_status_is_known",
                condition=Q(
                    status__in=[
                        "pending",
                        "sending",
                        "sent",
                        "delivered",
                        "bounced",
                        "complained",
                        "unsubscribed",
                        "failed",
                        "skipped",
                        "expired",
                        "cancelled",
                        "unknown",
                    ]
                ),
            ),
            models.CheckConstraint(
                name="message_not_sent_says_why",
                condition=~Q(status__in=["failed", "skipped", "expired", "cancelled"]) | ~Q(reason=""),
            ),
            models.CheckConstraint(name="message_says_something", condition=~Q(html="", text="")),
        ]
        indexes = [
            # campaigns.sql.messages.CLAIM and READY: one domain's wait never stands in the way of another's mail.
            models.Index(
                name="message_ready",
                fields=["stream", "domain", "next_attempt_at", "id"],
                condition=Q(status="pending"),
            ),
            # mailkoenig.monitoring: how old the oldest is that waits.
            models.Index(name="message_due", fields=["stream", "due_at"], condition=Q(status="pending")),
            # campaigns.sql.jobs: what a batch still holds.
            models.Index(
                name="message_open",
                fields=["stream", "batch"],
                condition=Q(status__in=["sending", "unknown"]),
            ),
            # campaigns.sql.messages.EXPIRE
            models.Index(
                name="message_expires",
                fields=["expires_at"],
                condition=Q(status="pending", expires_at__isnull=False),
            ),
            # dead letters, the few of many.
            models.Index(name="message_dead", fields=["stream", "id"], condition=Q(status="failed")),
            # events that carry only our batch; the admin's page of a batch.
            models.Index(name="message_batch", fields=["batch"]),
            # what a person or a caller looks for by address or its beginning.
            models.Index(
                name="message_address", fields=["email", "id"], opclasses=["varchar_pattern_ops", "int8_ops"]
            ),
            # the lists of one stream, and of the states that few of many are in.
            models.Index(name="message_of_stream", fields=["stream", "id"]),
            models.Index(
                name="message_rare",
                fields=["status", "id"],
                condition=Q(
                    status__in=[
                        "bounced",
                        "complained",
                        "unsubscribed",
                        "failed",
                        "skipped",
                        "expired",
                        "cancelled",
                        "unknown",
                    ]
                ),
            ),
        ]
        permissions = [("requeue_message", "Can cancel and requeue messages")]

    def __str__(self) -> str:
        return self.idempotency_key


class MessageTemplate(models.Model):
    """What messages of one kind say, written once; the caller gives the variables."""

    name = models.SlugField(max_length=50, unique=True, help_text="What callers name it by, such as receipt.")
    subject = models.CharField(max_length=250, help_text="May hold merge tags.")
    preheader = models.CharField(
        max_length=250,
        blank=True,
        default="",
        db_default="",
        help_text="What an inbox shows after the subject.",
    )
    body = models.TextField(
        help_text="May hold merge tags: {{ name }}, {{ email }} and the caller's variables."
    )
    body_format = models.CharField(
        max_length=8, choices=Campaign.BodyFormat, default=Campaign.BodyFormat.MARKDOWN
    )
    updated_at = models.DateTimeField(auto_now=True, db_default=Now(), editable=False)

    class Meta:
        db_table = "email_templates"
        ordering = ["name"]
        verbose_name = "message template"

    def __str__(self) -> str:
        return self.name


class Attachment(models.Model):
    """A file that goes with a message."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=255)
    content_type = models.CharField(max_length=100)
    content = models.BinaryField()

    class Meta:
        db_table = "email_attachments"

    def __str__(self) -> str:
        return self.name
