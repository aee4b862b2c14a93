"""Many at once, each on a connection of its own."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from campaigns.models import Message, SenderDomain
from tests.mailkoenig.api.conftest import Caller, make_token

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = 10


def at_once(ask: Callable[[Caller], Any], *, secret: str, times: int) -> list[Any]:
    """Ask so often from ten connections that begin together; return the answers."""
    begin = threading.Barrier(THREADS)

    def many() -> list[Any]:
        caller = Caller(secret)
        begin.wait(20)
        try:
            return [ask(caller) for _ in range(times // THREADS)]
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return [answer for asked in [pool.submit(many) for _ in range(THREADS)] for answer in asked.result()]


def test_one_key_fifty_times_at_once_is_one_message_and_fifty_equal_answers(domain: SenderDomain) -> None:
    answers = at_once(lambda shop: shop.post(), secret=make_token(streams=("receipts",)), times=50)

    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 49}
    assert len({answer.content for answer in answers}) == 1
    assert Message.objects.count() == 1


def test_one_key_for_two_contents_at_once_is_one_message_and_conflicts(domain: SenderDomain) -> None:
    def ask(shop: Caller) -> Any:
        return shop.post(subject=threading.current_thread().name[-1])

    answers = at_once(ask, secret=make_token(streams=("receipts",)), times=50)

    taken = Message.objects.get().subject
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 4, 409: 45}
    assert {answer.json()["subject"] for answer in answers if answer.status_code < 300} == {taken}


def test_a_rate_holds_over_all_connections_together(domain: SenderDomain) -> None:
    secret = make_token(streams=("receipts",), rate_per_minute=20)
    answers = at_once(lambda shop: shop("GET", "messages"), secret=secret, times=50)

    assert Counter(answer.status_code for answer in answers) == {200: 20, 429: 30}
