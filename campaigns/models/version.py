from django.db import models
from django.db.models.functions import Now

from campaigns.models.campaign import Campaign


class ContentVersion(models.Model):
    """What a campaign said when a batch of it went out: written once, kept as long as the campaign."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="versions", db_index=False)
    digest = models.CharField(max_length=64, help_text="SHA-256 over all of it.")
    subject = models.TextField()
    preheader = models.TextField(blank=True)
    body = models.TextField()
    body_format = models.CharField(max_length=8)
    sender = models.TextField(help_text="The From header.")
    reply_to = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "campaign_versions"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest"], name="version_once_per_campaign")
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id}: {self.digest[:8]}"
