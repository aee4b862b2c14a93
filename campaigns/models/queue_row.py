from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class QueueRow(models.Model):
    """What the queue keeps of one mail to one person; `campaigns.sql.jobs` writes it, whichever table it is.

    A model of it adds `status`, whose states "pending", "sending", "sent", "failed", "skipped" and "unknown" are the queue's.
    """

    email = models.CharField(max_length=254)
    name = models.CharField(max_length=200, blank=True, default="", db_default="")
    reason = models.TextField(
        blank=True, default="", db_default="", help_text="Why it failed, was not sent or waits."
    )
    batch = models.ForeignKey(
        "campaigns.SendBatch",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="%(class)ss",
        db_constraint=False,
        db_index=False,
    )
    # Also after it has been sent again: the mail may have reached this person twice.
    unclear_batch_id = models.UUIDField(
        null=True, blank=True, help_text="A batch before this one whose outcome was never cleared up."
    )
    locked_at = models.DateTimeField(null=True, blank=True)
    locked_by = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - the article's column: null while nobody holds it
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When the provider took it.")
    delivered_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True, help_text="First opened by a person.")
    clicked_at = models.DateTimeField(null=True, blank=True, help_text="First clicked by a person.")
    machine_opened_at = models.DateTimeField(
        null=True, blank=True, help_text="First fetched by a mail program or scanner."
    )
    machine_clicked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                name="%(class)s_leased_only_while_sending",
                condition=Q(
                    status="sending", locked_at__isnull=False, locked_by__isnull=False, batch__isnull=False
                )
                | (~Q(status="sending") & Q(locked_at__isnull=True, locked_by__isnull=True)),
            ),
            models.CheckConstraint(
                name="%(class)s_unknown_names_its_batch",
                condition=~Q(status="unknown") | Q(batch__isnull=False),
            ),
        ]
