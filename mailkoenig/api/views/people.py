"""Contacts and lists, for tokens that hold them. Nothing here lifts a suppression."""

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from contacts import services
from contacts.attributes import BadAttributes
from contacts.models import Contact, ContactList, Suppression
from contacts.states import default_scope
from events import erasing
from mailkoenig.api.door import check_contacts, holder_of
from mailkoenig.api.problems import Problem
from mailkoenig.api.schemas.people import (
    ContactIn,
    ContactOut,
    ListFilters,
    ListIn,
    ListOut,
    ListPage,
    MembersIn,
    MembersOut,
    StandingOut,
    shown,
    shown_list,
    suppression_of,
)
from mailkoenig.lib.addresses import InvalidAddress, normalise

contacts = Router(tags=["contacts"])
lists = Router(tags=["lists"])

Reason = Suppression.Reason


@contacts.put("/{address}", response={200: ContactOut, 201: ContactOut}, operation_id="upsert_contact")
def upsert(request: HttpRequest, address: str, contact: ContactIn) -> Status[dict[str, Any]]:
    """Write a contact by address. Who left, bounced or complained stays suppressed."""
    check_contacts(holder_of(request))
    try:
        written, is_new = services.upsert(
            address=spelled(address), name=contact.name, attributes=contact.attributes
        )
    except BadAttributes as error:
        raise Problem.of_field("attributes", str(error)) from error
    return Status(201 if is_new else 200, shown(written))


@contacts.get("/{address}", response=ContactOut, operation_id="get_contact")
def get(request: HttpRequest, address: str) -> dict[str, Any]:
    """Show a contact, and what stands against mailing it."""
    check_contacts(holder_of(request))
    return shown(one(address))


@contacts.post("/{address}/unsubscribe", response=StandingOut, operation_id="unsubscribe_contact")
def unsubscribe(request: HttpRequest, address: str) -> dict[str, Any]:
    """Send no more campaigns to an address, a contact's or not. Receipts still go out."""
    holder = holder_of(request)
    check_contacts(holder)
    email = spelled(address)
    services.suppress(
        address=email,
        reason=Reason.UNSUBSCRIBED,
        scope=default_scope(Reason.UNSUBSCRIBED),
        source=f"API token {holder.name}",
    )
    return {"email": email, "suppression": suppression_of(email)}


@contacts.delete("/{address}", response={204: None}, operation_id="erase_contact")
def erase(request: HttpRequest, address: str) -> Status[None]:
    """Erase a person for good: contact, messages, events, and the name in what campaigns sent.

    A suppression stays, unreadable, so that the same address is not mailed when it comes back. 409 while a mail to it is on
    its way.
    """
    holder = holder_of(request)
    check_contacts(holder)
    if not any(erasing.erase(spelled(address), by=f"API token {holder.name}")):
        raise Http404("There is nothing about this address.")
    return Status(204, None)


def one(address: str) -> Contact:
    """Return the contact with this address."""
    found = Contact.objects.filter(email=spelled(address)).first()
    if found is None:
        raise Http404("There is no contact with this address.")
    return found


def spelled(address: str) -> str:
    """Return the spelling that an address is kept in."""
    try:
        return normalise(address)
    except InvalidAddress as error:
        raise Problem.of_field("address", f"It is not an address: {error}") from error


@lists.get("", response=ListPage, operation_id="list_lists")
def many(request: HttpRequest, filters: Query[ListFilters]) -> dict[str, Any]:
    """List the lists, the oldest first."""
    check_contacts(holder_of(request))
    found = ContactList.objects.filter(pk__gt=int(filters.cursor or 0)).order_by("pk")[: filters.limit]
    items = [shown_list(each) for each in found]
    return {"items": items, "next": str(items[-1]["id"]) if len(items) == filters.limit else None}


@lists.post("", response={201: ListOut}, operation_id="create_list")
def create(request: HttpRequest, contact_list: ListIn) -> Status[dict[str, Any]]:
    """Make a list. 409 where there is one of this name."""
    check_contacts(holder_of(request))
    try:
        made = services.create_list(name=contact_list.name, description=contact_list.description)
    except services.ListExists as error:
        raise Problem(409, str(error), kind="wrong-state", errors=[("name", str(error))]) from error
    return Status(201, shown_list(made))


@lists.get("/{int:id}", response=ListOut, operation_id="get_list")
def get_list(request: HttpRequest, id: int) -> dict[str, Any]:
    """Show a list."""
    check_contacts(holder_of(request))
    return shown_list(one_list(id))


@lists.post("/{int:id}/members/add", response=MembersOut, operation_id="add_members")
def add(request: HttpRequest, id: int, members: MembersIn) -> dict[str, int]:
    """Put addresses on a list: all of them or, where one is none, nobody. New ones become contacts."""
    check_contacts(holder_of(request))
    return {"changed": services.add_members(one_list(id), addresses=people(members.addresses))}


@lists.post("/{int:id}/members/remove", response=MembersOut, operation_id="remove_members")
def remove(request: HttpRequest, id: int, members: MembersIn) -> dict[str, int]:
    """Take addresses off a list; the contacts stay."""
    check_contacts(holder_of(request))
    return {"changed": services.remove_members(one_list(id), addresses=people(members.addresses))}


def one_list(id: int) -> ContactList:
    """Return the list with this id."""
    found = ContactList.objects.filter(pk=id).first()
    if found is None:
        raise Http404("There is no such list.")
    return found


def people(addresses: Sequence[str]) -> list[str]:
    """Return addresses as they are kept, each once; names every one that is none."""
    found, errors = [], []
    for number, address in enumerate(addresses):
        try:
            found.append(normalise(address))
        except InvalidAddress as error:
            errors.append((f"addresses.{number}", f"It is not an address: {error}"))
    if errors:
        raise Problem(
            422, f"{len(errors)} of {len(addresses)} are no addresses.", kind="refused", errors=errors[:100]
        )
    return list(dict.fromkeys(found))
