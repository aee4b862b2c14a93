"""Contacts and the lists they are on."""

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, WithJsonSchema

from contacts.models import Contact, ContactList, Suppression
from mailkoenig.api.schemas.base import PAGE, Body, Cursor, Limit

MOST_MEMBERS = 1000


# Written out: three models have a Status, and a description keeps one schema of a name.
ContactStatus = Annotated[Contact.Status, WithJsonSchema({"type": "string", "enum": Contact.Status.values})]


class ContactIn(Body):
    """What is left out stays as it is."""

    name: str | None = Field(None, max_length=200)
    attributes: dict[str, str | int | float | bool | None] | None = Field(
        None,
        description="Merge tags by name; they take the place of all that there were.",
        examples=[{"city": "Kiel"}],
    )


class SuppressionOut(Schema):
    """Why mail to this address stops. `marketing`: campaigns only; `all`: receipts too."""

    reason: Suppression.Reason
    scope: Suppression.Scope
    since: datetime


class ContactOut(Schema):
    email: str
    name: str
    attributes: dict[str, Any]
    status: ContactStatus
    suppression: SuppressionOut | None
    lists: list[int]
    created_at: datetime
    updated_at: datetime


class StandingOut(Schema):
    """What stands against mailing an address, a contact's or not."""

    email: str
    suppression: SuppressionOut


def suppression_of(address: str) -> dict[str, Any] | None:
    """Return what stands against an address."""
    found = Suppression.objects.filter(address=address, lifted_at=None).first()
    if found is None:
        return None
    return {"reason": found.reason, "scope": found.scope, "since": found.created_at}


def shown(contact: Contact) -> dict[str, Any]:
    """Return a contact as callers see it."""
    return {
        "email": contact.email,
        "name": contact.name,
        "attributes": contact.attributes,
        "status": contact.status,
        "suppression": suppression_of(contact.email),
        "lists": list(contact.memberships.order_by("list_id").values_list("list_id", flat=True)),
        "created_at": contact.created_at,
        "updated_at": contact.updated_at,
    }


class ListIn(Body):
    name: str = Field(min_length=1, max_length=100, examples=["Newsletter"])
    description: str = Field("", max_length=2000)


class ListOut(Schema):
    id: int
    name: str
    description: str
    created_at: datetime


class ListFilters(Body):
    limit: Limit = PAGE
    cursor: Cursor | None = None


class ListPage(Schema):
    """The oldest first."""

    items: list[ListOut]
    next: str | None


class MembersIn(Body):
    addresses: list[Annotated[str, Field(max_length=320)]] = Field(
        min_length=1, max_length=MOST_MEMBERS, examples=[["ada@example.com"]]
    )


class MembersOut(Schema):
    """How many that changed; the others were on it, or not on it, already."""

    changed: int


def shown_list(contact_list: ContactList) -> dict[str, Any]:
    """Return a list as callers see it."""
    return {
        "id": contact_list.pk,
        "name": contact_list.name,
        "description": contact_list.description,
        "created_at": contact_list.created_at,
    }
