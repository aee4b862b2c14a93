"""People, the lists they are on, and our lasting refusals to mail an address."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now, Trim

from mailkoenig.lib.addresses import AddressField


class RandomToken(models.Func):
    """122 random bits as 32 hexadecimal digits, drawn by the database."""

    template = "replace(gen_random_uuid()::text, '-', '')"
    output_field = models.CharField()

    def __init__(self, **extra: Any) -> None:
        super().__init__(**extra)


def random_token() -> str:
    """Return 128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


class Contact(models.Model):
    """A person's address, once in the system, and whether we may mail it."""

    class Status(models.TextChoices):
        ACTIVE = "active"  # may be mailed
        UNSUBSCRIBED = "unsubscribed"  # asked to leave: no marketing
        BOUNCED = "bounced"  # the address is dead: no mail at all
        COMPLAINED = "complained"  # called our mail spam

    email = AddressField(unique=True)
    name = models.CharField(max_length=200, blank=True, default="", db_default="")
    attributes = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Merge tags of this person, by name."
    )
    status = models.CharField(
        max_length=12, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE, editable=False
    )
    # Unique by a constraint below, not by the field: that would add a second index, for LIKE, to every import.
    unsubscribe_token = models.CharField(
        max_length=64, default=random_token, db_default=RandomToken(), editable=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "contacts"
        # For the admin's filter by state, and the import's look for people who must be left alone: few among many.
        indexes = [
            models.Index(fields=["status", "id"], condition=~Q(status="active"), name="contact_not_active")
        ]
        constraints = [
            models.UniqueConstraint(fields=["unsubscribe_token"], name="contact_token_is_unique"),
            models.CheckConstraint(
                name="contact_status_is_known",
                condition=Q(status__in=["active", "unsubscribed", "bounced", "complained"]),
            ),
            models.CheckConstraint(
                name="contact_email_is_normal", condition=Q(email=Lower(Trim("email"))) & ~Q(email="")
            ),
        ]

    def __str__(self) -> str:
        return str(self.email)


class ContactList(models.Model):
    """A named set of contacts that a campaign can go to."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, default="", db_default="")
    contacts = models.ManyToManyField(Contact, through="Membership", related_name="lists")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "contact_lists"
        verbose_name = "list"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One contact on one list."""

    list = models.ForeignKey(
        ContactList, on_delete=models.CASCADE, related_name="memberships", db_index=False
    )
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE, related_name="memberships")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "contact_list_members"
        # In this order the index also serves the snapshot, which walks a list by contact id.
        constraints = [models.UniqueConstraint(fields=["list", "contact"], name="member_once_per_list")]

    def __str__(self) -> str:
        return f"{self.contact_id} on {self.list_id}"


class Suppression(models.Model):
    """Our refusal to mail an address. It outlives the contact; a lifted one stays as the trace of who lifted it."""

    class Scope(models.TextChoices):
        MARKETING = "marketing"  # no campaigns; receipts still go out
        ALL = "all"  # nothing at all

    class Reason(models.TextChoices):
        UNSUBSCRIBED = "unsubscribed"
        BOUNCED = "bounced"
        COMPLAINED = "complained"
        MANUAL = "manual", "set by a person"

    address = AddressField()
    scope = models.CharField(max_length=9, choices=Scope, default=Scope.MARKETING)
    reason = models.CharField(max_length=12, choices=Reason, default=Reason.MANUAL)
    source = models.TextField(blank=True, default="", db_default="", help_text="Who or what asked for it.")
    event = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The provider's event, if one caused it.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    lifted_at = models.DateTimeField(null=True, blank=True, editable=False)
    lifted_by = models.TextField(blank=True, default="", db_default="", editable=False)

    class Meta:
        db_table = "suppressions"
        constraints = [
            models.UniqueConstraint(
                fields=["address"], condition=Q(lifted_at__isnull=True), name="suppression_once_per_address"
            ),
            models.CheckConstraint(
                name="suppression_scope_is_known", condition=Q(scope__in=["marketing", "all"])
            ),
            models.CheckConstraint(
                name="suppression_reason_is_known",
                condition=Q(reason__in=["unsubscribed", "bounced", "complained", "manual"]),
            ),
            models.CheckConstraint(
                name="suppression_address_is_normal",
                condition=Q(address=Lower(Trim("address"))) & ~Q(address=""),
            ),
            models.CheckConstraint(
                name="suppression_lifted_by_someone", condition=Q(lifted_at__isnull=True) | ~Q(lifted_by="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.address}: {self.reason}"


class ErasedSuppression(models.Model):
    """A suppression of somebody who was erased: it stands again once the address comes back (`contacts.erasing`)."""

    digest = models.BinaryField(unique=True, help_text="HMAC-SHA256 of the address under ERASURE_KEY.")
    scope = models.CharField(max_length=9, choices=Suppression.Scope)
    reason = models.CharField(max_length=12, choices=Suppression.Reason)
    created_at = models.DateTimeField(help_text="Since when it stood.")
    erased_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "erased_suppressions"
        default_permissions = ()

    def __str__(self) -> str:
        return f"somebody erased: {self.reason}"


class ContactImport(models.Model):
    """One file of contacts and what became of its rows."""

    file_name = models.CharField(max_length=255)
    list = models.ForeignKey(
        ContactList, null=True, blank=True, on_delete=models.SET_NULL, related_name="imports"
    )
    update = models.BooleanField(
        default=False, help_text="Names and attributes of known contacts were changed too."
    )
    read = models.PositiveIntegerField(default=0)
    created = models.PositiveIntegerField(default=0)
    updated = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0, help_text="Suppressed addresses and repeated rows.")
    refused = models.PositiveIntegerField(default=0)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "contact_imports"
        verbose_name = "import"
        constraints = [
            models.CheckConstraint(
                name="import_adds_up",
                condition=Q(read=F("created") + F("updated") + F("unchanged") + F("skipped") + F("refused")),
            )
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.read} rows)"


class ImportRefusal(models.Model):
    """One row of a file that was not taken, and why."""

    contact_import = models.ForeignKey(ContactImport, on_delete=models.CASCADE, related_name="refusals")
    row = models.PositiveIntegerField(
        help_text="Number of the record in the file; the first after the header is 1."
    )
    reason = models.TextField()

    class Meta:
        db_table = "contact_import_refusals"
        ordering = ["row"]

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"
