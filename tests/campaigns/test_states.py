from hypothesis import given
from hypothesis import strategies as st

from campaigns.models import Recipient
from campaigns.states import LADDER, advance, rank
from mailkoenig.providers.types import EventType

statuses = st.sampled_from(list(Recipient.Status))
events = st.lists(st.sampled_from(list(EventType)), max_size=8)


def after(status: str, happened: list[EventType]) -> str:
    for event in happened:
        status = advance(status, event)
    return status


@given(statuses, events.flatmap(lambda happened: st.tuples(st.just(happened), st.permutations(happened))))
def test_order_of_events_does_not_matter(
    status: str, orders: tuple[list[EventType], list[EventType]]
) -> None:
    happened, shuffled = orders

    assert after(status, happened) == after(status, shuffled)


@given(statuses, events)
def test_events_twice_change_nothing_more(status: str, happened: list[EventType]) -> None:
    assert after(status, happened) == after(after(status, happened), happened)


@given(statuses, st.sampled_from(list(EventType)))
def test_a_state_never_falls(status: str, event: EventType) -> None:
    assert rank(advance(status, event)) >= rank(status)


def test_a_complaint_outranks_all() -> None:
    assert all(advance(status, EventType.COMPLAINED) == "complained" for status in LADDER)


def test_temporary_failure_then_delivery_is_delivered() -> None:
    assert after("sent", [EventType.DEFERRED, EventType.DELIVERED]) == "delivered"


def test_delivery_then_bounce_is_bounced_in_both_orders() -> None:
    assert after("sent", [EventType.DELIVERED, EventType.BOUNCED]) == "bounced"
    assert after("sent", [EventType.BOUNCED, EventType.DELIVERED]) == "bounced"


def test_a_click_alone_proves_delivery() -> None:
    assert advance("sending", EventType.CLICKED) == "delivered"
