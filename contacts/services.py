"""Everything that writes people and permission: the only way to change who may be mailed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from contacts import erasing, sql
from contacts.attributes import check
from contacts.importing.rows import tidy_name
from contacts.importing.services import refuse_bad_list_name
from contacts.models import Contact, ContactList, Suppression
from contacts.states import OWN, STATUS_OF, STRENGTH, default_scope
from mailkoenig.lib.addresses import normalise
from mailkoenig.lib.command import UserError

Reason, Scope = Suppression.Reason, Suppression.Scope
DELETED_AT_ONCE = 1000


class ListExists(UserError):
    """There is a list of this name."""


def suppress(
    *, address: str, reason: Suppression.Reason, scope: Suppression.Scope, source: str, event: str = ""
) -> bool:
    """Refuse mail to `address` from now on, a contact's or not; say whether anything changed by it.

    A suppression that stands is widened and strengthened, never weakened. Raises InvalidAddress for what is no address.
    """
    return sql.suppress(
        address=normalise(address),
        reason=Reason(reason).value,
        scope=Scope(scope).value,
        status=STATUS_OF[Reason(reason)].value,
        source=source,
        event=event[:200],
    )


def lift(*, address: str, by: str, reasons: Collection[Suppression.Reason] = STRENGTH) -> bool:
    """Allow mail to `address` again, as the deliberate act of `by`; say whether anything stood against it.

    The suppression stays in the table as the trace. Whatever is not among `reasons` stays as it is.
    """
    return sql.lift(address=normalise(address), reasons=[reason.value for reason in reasons], by=by)


def person(token: str) -> sql.Person | None:
    """Return the person whose unsubscribe token it is; None where nobody's."""
    return sql.person(token)


def unsubscribe(token: str, *, source: str) -> sql.Person | None:
    """Take the person with this token off all marketing; return them as they are now, or None for nobody's token.

    What stands already stops marketing too, and stays as it is: a person can later take back only their own act.
    """
    found = sql.person(token)
    if found is None or found.reason is not None:
        return found
    reason = Reason.UNSUBSCRIBED
    suppress(address=found.address, reason=reason, scope=default_scope(reason), source=source)
    return sql.person(token)


def resubscribe(token: str, *, source: str) -> sql.Person | None:
    """Take back the person's own unsubscribing, and nothing else; return them as they are now, or None."""
    found = sql.person(token)
    if found is None:
        return None
    lift(address=found.address, by=source, reasons=OWN)
    return sql.person(token)


def may_resubscribe(person: sql.Person) -> bool:
    """Say whether the person left by themselves, so that they may return by themselves."""
    return person.status == Contact.Status.UNSUBSCRIBED and person.reason in (None, *OWN)


def is_subscribed(person: sql.Person) -> bool:
    """Say whether the person may get marketing."""
    return person.status == Contact.Status.ACTIVE and person.reason is None


def unsubscribe_url(token: str) -> str:
    """Return the whole address of the unsubscribe page for a contact's token."""
    return f"{settings.PUBLIC_URL}/unsubscribe/{token}/"


def save(contact: Contact, *, fields: Collection[str] | None = None) -> None:
    """Write a contact, or only its `fields`; an address that is suppressed makes it suppressed.

    Raises InvalidAddress for what is no address.
    """
    contact.email = normalise(contact.email)
    with transaction.atomic():
        erasing.recall([contact.email])
        if fields is None:
            contact.save()
        else:
            contact.updated_at = Now()
            contact.save(update_fields={*fields, "updated_at"})
        sql.shadow([contact.email])
    contact.refresh_from_db()


def suppress_contacts(ids: Sequence[int], *, by: str) -> int:
    """Send no more campaigns to these contacts, as the act of `by`; return how many that changed."""
    changed = 0
    with transaction.atomic():
        addresses = Contact.objects.filter(pk__in=ids).order_by("email").values_list("email", flat=True)
        for address in addresses:
            changed += suppress(address=address, reason=Reason.MANUAL, scope=Scope.MARKETING, source=by)
    return changed


def delete_contacts(ids: Sequence[int]) -> int:
    """Delete contacts for good, in flat memory; their suppressions stay. Return how many there were."""
    deleted = 0
    with transaction.atomic():
        for start in range(0, len(ids), DELETED_AT_ONCE):
            some = Contact.objects.filter(pk__in=ids[start : start + DELETED_AT_ONCE])
            deleted += some.delete()[1].get("contacts.Contact", 0)
    return deleted


def upsert(
    *, address: str, name: str | None = None, attributes: Mapping[str, Any] | None = None
) -> tuple[Contact, bool]:
    """Write a contact by address and say whether it is new; what is None stays as it is.

    A suppression is never lifted by it. Raises InvalidAddress, and BadAttributes.
    """
    given = {
        **({} if name is None else {"name": tidy_name(name)}),
        **({} if attributes is None else {"attributes": check(attributes)}),
    }
    with transaction.atomic():
        is_new = bool(sql.add([normalise(address)]))
        contact = Contact.objects.select_for_update(no_key=True).get(email=normalise(address))
        for field, value in given.items():
            setattr(contact, field, value)
        save(contact, fields=given)
    return contact, is_new


def create_list(*, name: str, description: str = "") -> ContactList:
    """Make a list. Raises UserError for a bad name, ListExists for one that there is."""
    refuse_bad_list_name(name)
    made, is_new = ContactList.objects.get_or_create(name=name, defaults={"description": description})
    if not is_new:
        raise ListExists(f"There is a list {name!r} already: use it, or choose another name.")
    return made


def add_members(contact_list: ContactList, *, addresses: Sequence[str]) -> int:
    """Put addresses on a list, as new contacts where they are none; return how many were not on it.

    Who is suppressed stays so. Raises InvalidAddress.
    """
    people = [normalise(address) for address in addresses]
    with transaction.atomic():
        erasing.recall(people)
        if sql.add(people):
            sql.shadow(people)
        return sql.enlist(people, list_id=contact_list.pk)


def remove_members(contact_list: ContactList, *, addresses: Sequence[str]) -> int:
    """Take addresses off a list; return how many were on it. Raises InvalidAddress."""
    return sql.strike([normalise(address) for address in addresses], list_id=contact_list.pk)
