from django.db import models


class Tally(models.Model):
    """How often something happened within a minute; old minutes are folded into one row, so that sums never fall."""

    stream = models.CharField(
        max_length=50,
        blank=True,
        default="",
        db_default="",
        help_text="Its name; empty for what belongs to none.",
    )
    name = models.CharField(
        max_length=50, help_text="Such as answer:200, lease_expired, duplicate_key or webhook:delivered."
    )
    minute = models.DateTimeField()
    times = models.BigIntegerField(default=0, db_default=0)
    mails = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        db_table = "tallies"
        verbose_name_plural = "tallies"
        constraints = [
            models.UniqueConstraint(fields=["minute", "stream", "name"], name="tally_once_a_minute")
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.minute}"
