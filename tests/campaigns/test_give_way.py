import threading
from collections.abc import Iterator

import pytest

from campaigns.give_way import GiveWay
from campaigns.sender import Sender


@pytest.fixture
def give_way() -> GiveWay:
    return GiveWay()


class Lane(threading.Thread):
    """Goes to the database and stays there until told to leave."""

    def __init__(self, give_way: GiveWay) -> None:
        super().__init__(daemon=True)
        self.give_way = give_way
        self.is_in = threading.Event()
        self.leave = threading.Event()

    def run(self) -> None:
        with self.give_way.one_at_a_time():
            self.is_in.set()
            self.leave.wait(10)


@pytest.fixture
def lanes(give_way: GiveWay) -> Iterator[list[Lane]]:
    lanes = [Lane(give_way), Lane(give_way)]
    yield lanes
    for lane in lanes:
        lane.leave.set()
        lane.join(10)


def test_lanes_go_side_by_side_where_there_is_no_other_mail(lanes: list[Lane]) -> None:
    for lane in lanes:
        lane.start()
    assert all(lane.is_in.wait(5) for lane in lanes)


def test_lanes_go_one_at_a_time_while_other_mail_goes_out(give_way: GiveWay, lanes: list[Lane]) -> None:
    give_way.note_other_mail()
    first, second = lanes
    first.start()
    assert first.is_in.wait(5)
    second.start()
    assert not second.is_in.wait(0.2)
    first.leave.set()
    assert second.is_in.wait(5)


def test_giving_way_ends_by_itself(
    give_way: GiveWay, lanes: list[Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.give_way.FOR", 0.0)
    give_way.note_other_mail()
    for lane in lanes:
        lane.start()
    assert all(lane.is_in.wait(5) for lane in lanes)


def test_an_error_at_the_database_keeps_nobody_waiting(give_way: GiveWay) -> None:
    give_way.note_other_mail()

    def fail() -> None:
        with give_way.one_at_a_time():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert give_way.lock.acquire(timeout=1)


def test_only_other_mail_has_campaigns_give_way() -> None:
    sender = Sender(worker="one")
    sender.wake("campaigns")
    sender.wake("")
    assert sender.give_way.until < 0
    sender.wake("receipts")
    assert sender.give_way.until > 0
