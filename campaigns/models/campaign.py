from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from campaigns.models.sender import SenderDomain
from contacts.models import ContactList


class Campaign(models.Model):
    """One message to many people."""

    class Status(models.TextChoices):
        DRAFT = "draft"  # being written
        SCHEDULED = "scheduled"  # starts by itself at scheduled_at
        SENDING = "sending"  # the worker takes its people and sends
        PAUSED = "paused"  # keeps its place; a person resumes it
        SENT = "sent"  # nobody is left to send to
        CANCELLED = "cancelled"  # ended by a person before everybody got it

    class BodyFormat(models.TextChoices):
        MARKDOWN = "markdown", "Markdown"
        HTML = "html", "HTML"

    name = models.CharField(max_length=200, help_text="For us; readers do not see it.")
    subject = models.CharField(max_length=250, help_text="May hold merge tags.")
    preheader = models.CharField(
        max_length=250, blank=True, default="", help_text="What an inbox shows after the subject."
    )
    body = models.TextField(
        help_text="May hold merge tags; the unsubscribe link is added where there is none."
    )
    body_format = models.CharField(max_length=8, choices=BodyFormat, default=BodyFormat.MARKDOWN)
    from_name = models.CharField(max_length=100, blank=True, default="")
    from_email = models.EmailField(
        blank=True, default="", help_text="An address of the sender domain; empty for news@ that domain."
    )
    reply_to = models.EmailField(blank=True, default="")
    domain = models.ForeignKey(
        SenderDomain, null=True, blank=True, on_delete=models.PROTECT, related_name="campaigns"
    )
    lists = models.ManyToManyField(
        ContactList, blank=True, related_name="campaigns", db_table="campaign_lists"
    )
    track_opens = models.BooleanField(default=True, db_default=True)
    track_clicks = models.BooleanField(default=True, db_default=True)
    status = models.CharField(max_length=9, choices=Status, default=Status.DRAFT, db_default=Status.DRAFT)
    status_reason = models.TextField(
        blank=True, default="", db_default="", editable=False, help_text="Why it is paused or did not start."
    )
    scheduled_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True, editable=False)
    resumed_at = models.DateTimeField(null=True, blank=True, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True, editable=False)
    # What the guard rails saw last, of the mail that was accepted since it was started or resumed.
    guarded_at = models.DateTimeField(null=True, blank=True, editable=False)
    guard_results = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    guard_bounces = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    guard_complaints = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # The snapshot walks one list after the other by contact id; these say how far it came.
    snapshot_list = models.BigIntegerField(default=0, db_default=0, editable=False)
    snapshot_contact = models.BigIntegerField(default=0, db_default=0, editable=False)
    snapshot_finished_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(auto_now=True, db_default=Now(), editable=False)

    class Meta:
        db_table = "campaigns"
        constraints = [
            models.CheckConstraint(
                name="campaign_status_is_known",
                condition=Q(status__in=["draft", "scheduled", "sending", "paused", "sent", "cancelled"]),
            ),
            models.CheckConstraint(
                name="campaign_scheduled_has_a_time",
                condition=~Q(status="scheduled") | Q(scheduled_at__isnull=False),
            ),
            models.CheckConstraint(
                name="campaign_body_format_is_known", condition=Q(body_format__in=["markdown", "html"])
            ),
        ]
        indexes = [
            # campaigns.sql.ACTIVATE and SENDING: a handful of rows among all that ever were.
            models.Index(
                name="campaign_in_motion",
                fields=["status", "scheduled_at"],
                condition=Q(status__in=["scheduled", "sending", "paused"]),
            ),
            # campaigns.sql.guard: those that were over within the last day.
            models.Index(
                name="campaign_over", fields=["finished_at"], condition=Q(finished_at__isnull=False)
            ),
        ]
        permissions = [
            ("send_campaign", "Can start, schedule, pause, resume and cancel campaigns"),
        ]

    def __str__(self) -> str:
        return self.name
