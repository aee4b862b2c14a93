from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Alert(models.Model):
    """Something that is wrong, or was: one row for each kind and what it is about, used again when it comes back."""

    class Kind(models.TextChoices):
        STALLED = "stalled"  # a stream's oldest mail is over its budget and nothing is accepted
        NO_WORKER = "no_worker", "no worker"  # mail waits and no worker is alive
        SILENCE = "silence"  # nothing comes back of a campaign
        UNKNOWN = "unknown"  # an outcome waits for a person for too long
        DOMAIN = "domain_paused", "domain paused"  # nothing is sent from a domain
        BOUNCES = "bounces"  # too many of a campaign's mails go to dead addresses
        COMPLAINTS = "complaints"  # too many of a campaign's readers call it spam

    class Severity(models.TextChoices):
        PAGE = "page"  # somebody has to get up
        WARNING = "warning"  # somebody has to look in the morning

    kind = models.CharField(max_length=20, choices=Kind)
    subject = models.CharField(
        max_length=260,
        blank=True,
        default="",
        db_default="",
        help_text="A stream, domain or campaign by name; empty for what is about everything.",
    )
    severity = models.CharField(max_length=7, choices=Severity, default=Severity.PAGE)
    summary = models.TextField(help_text="What is wrong, as it was last seen.")
    details = models.JSONField(default=dict, db_default={}, help_text="The facts behind it.")
    began_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(db_default=Now())
    notified_at = models.DateTimeField(null=True, blank=True, help_text="When somebody was first told of it.")
    cleared_at = models.DateTimeField(null=True, blank=True, help_text="When it was over.")

    class Meta:
        db_table = "alerts"
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["kind", "subject"], name="alert_once_for_each_subject"),
        ]
        indexes = [
            models.Index(name="alert_firing", fields=["began_at"], condition=Q(cleared_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject}" if self.subject else self.get_kind_display()


class Notice(models.Model):
    """One thing to tell in one way: that an alert began, or that it is over. Kept until it has been told."""

    class About(models.TextChoices):
        BEGAN = "began"
        CLEARED = "cleared"

    class Way(models.TextChoices):
        EMAIL = "email"
        WEBHOOK = "webhook"

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="notices")
    about = models.CharField(max_length=7, choices=About)
    way = models.CharField(max_length=7, choices=Way)
    summary = models.TextField()
    details = models.JSONField(default=dict, db_default={})
    began_at = models.DateTimeField()
    cleared_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(
        db_default=Now(),
        help_text="Not told before: an alert that comes back at once is not told again and again.",
    )
    claimed_until = models.DateTimeField(
        null=True, blank=True, help_text="Somebody is telling it until then."
    )
    tries = models.PositiveIntegerField(default=0, db_default=0)
    error = models.TextField(blank=True, default="", db_default="", help_text="Why it could not be told yet.")
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "alert_notices"
        default_permissions = ()
        indexes = [
            models.Index(name="notice_untold", fields=["due_at"], condition=Q(told_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.alert} {self.about} by {self.way}"
