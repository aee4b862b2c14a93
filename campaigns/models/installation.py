from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Installation(models.Model):
    """The one row that says which server this database lives on, so that a restored or copied one is noticed."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    server = models.CharField(
        max_length=100,
        help_text="The server's own identity, as it was when a person or the first start confirmed it.",
    )
    beats = models.BigIntegerField(
        default=0,
        db_default=0,
        help_text="Counts up while workers run; they keep a copy outside the database.",
    )
    held_reason = models.TextField(
        blank=True, default="", db_default="", help_text="Why nothing is sent until a person confirms."
    )
    stopped_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when a person has stopped all sending."
    )
    stopped_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    stopped_reason = models.TextField(blank=True, default="", db_default="")
    confirmed_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    confirmed_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "installation"
        constraints = [models.CheckConstraint(name="installation_is_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return self.server
