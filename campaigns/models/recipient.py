from django.db import models
from django.db.models import Q

from campaigns.models.campaign import Campaign
from campaigns.models.queue_row import QueueRow
from contacts.models import Contact


class Recipient(QueueRow):
    """One contact's copy of one campaign: the snapshot and the job at once. `status` is the queue."""

    class Status(models.TextChoices):
        PENDING = "pending", "ready"  # waits for a worker, not before next_attempt_at
        SENDING = "sending", "leased"  # held by a batch
        SENT = "sent", "accepted"  # the provider took it
        DELIVERED = "delivered"  # the reader's server took it
        BOUNCED = "bounced"  # the reader's server refused it for good
        COMPLAINED = "complained"  # the reader called it spam
        UNSUBSCRIBED = "unsubscribed"  # the reader left because of it
        FAILED = "failed"  # not accepted, and not tried again
        SKIPPED = "skipped"  # no longer eligible at the last check
        UNKNOWN = "unknown"  # perhaps accepted: no answer reached us

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="recipients", db_index=False
    )
    # No foreign key in the database: checking it costs more than the insert itself (see ARCHITECTURE).
    contact = models.ForeignKey(
        Contact, null=True, on_delete=models.SET_NULL, related_name="recipients", db_constraint=False
    )
    status = models.CharField(
        max_length=12, choices=Status, default=Status.PENDING, db_default=Status.PENDING
    )

    class Meta:
        db_table = "campaign_recipients"
        constraints = [
            *QueueRow.Meta.constraints,
            models.UniqueConstraint(fields=["campaign", "contact"], name="recipient_once_per_campaign"),
            models.CheckConstraint(
                name="recipient_status_is_known",
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
                        "unknown",
                    ]
                ),
            ),
            models.CheckConstraint(
                name="recipient_failed_or_skipped_says_why",
                condition=~Q(status__in=["failed", "skipped"]) | ~Q(reason=""),
            ),
        ]
        indexes = [
            # the admin's list of those few whom it did not reach, in a campaign of a million.
            models.Index(
                name="recipient_fell_out",
                fields=["campaign", "contact"],
                condition=Q(status__in=["failed", "skipped", "bounced", "complained", "unsubscribed"]),
            ),
            # campaigns.reports.AT_RISK: the few who may have got it twice.
            models.Index(
                name="recipient_at_risk", fields=["campaign"], condition=Q(unclear_batch_id__isnull=False)
            ),
            # campaigns.sql.CLAIM. Ordering by id alone would be planned on the primary key and slow down with every row sent.
            models.Index(
                name="recipient_ready",
                fields=["campaign", "next_attempt_at", "id"],
                condition=Q(status="pending"),
            ),
            # campaigns.sql.RETURN_BATCH and COMPLETE; SETTLE must not repeat this predicate, or it is planned on it.
            models.Index(
                name="recipient_open",
                fields=["campaign", "batch"],
                condition=Q(status__in=["sending", "unknown"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} ({self.status})"
