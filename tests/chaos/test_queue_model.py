"""A model of everything that can go wrong, against the real code and the real database."""

import os
import sys
from random import Random

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from campaigns.models import Stream
from tests.chaos import books, ending, steps
from tests.chaos.world import World

# More of them find more: CHAOS_EXAMPLES=1000 for an evening.
EXAMPLES = int(os.environ.get("CHAOS_EXAMPLES", "25"))


class Queue(RuleBasedStateMachine):
    """One run: steps in any order, the books looked at after each, and at the end everything drains."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.block = transaction.atomic()
        self.block.__enter__()
        with connection.cursor() as cursor:
            # What would be found out at the commit is found out at once.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    @initialize(
        people=st.integers(2, 7),
        size=st.integers(1, 4),
        past=st.sampled_from(["nothing", "unclear", "sent again"]),
        taken=st.booleans(),
    )
    def begin(self, people: int, size: int, past: str, taken: bool) -> None:
        """Start a campaign, perhaps with a call behind it whose answer was lost."""
        self.world.people(people)
        Stream.objects.filter(name="campaigns").update(batch_size=size, max_attempts=3, on_unknown="resend")
        self.world.start_campaign(lists=2, domain=0)
        self.world.keep_house()
        if past != "nothing":
            self.world.lose_a_call(taken=taken)
        if past == "sent again":
            self.world.post.log = "down"
            self.world.ask_log_to_the_end()
            self.world.post.log = "open"

    # One rule whose dice choose the step: Hypothesis repeats what it has drawn before, and of many rules it would
    # hardly ever combine the few that a fault takes.
    @rule(seed=st.integers(0, 2**32 - 1))
    def step(self, seed: int) -> None:
        """Let anything happen that can."""
        note(f"    {steps.take(self.world, Random(seed))}")

    @invariant()
    def the_books_are_right(self) -> None:
        books.check(self.world)

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None and self.world.campaigns:
                ending.drain(self.world)
                books.check_end(self.world)
        finally:
            transaction.set_rollback(True)
            self.block.__exit__(None, None, None)
            self.world.close()


@pytest.mark.slow
@pytest.mark.django_db
def test_whatever_happens_nobody_is_lost_and_nobody_gets_it_twice() -> None:
    run_state_machine_as_test(
        Queue,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
