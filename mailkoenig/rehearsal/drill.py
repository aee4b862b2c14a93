"""The drill: each case breaks something on purpose, and the simulated provider's count is the judge."""

import shutil
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from mailkoenig.lib.command import UserError, first_line
from mailkoenig.rehearsal.cases import CASES
from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.scratch import NoServer, Scratch
from mailkoenig.rehearsal.stage import Books, Stage


class Result(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Verdict(NamedTuple):
    """One case's end, and the provider's count of it."""

    case: str
    verdict: Result
    reason: str
    people: int
    accepted: int
    twice: int
    lost: int
    calls: int
    seconds: float


def play(names: Sequence[str], *, seed: int) -> Iterator[Verdict]:
    """Play cases one after the other on databases of their own; yield each verdict. Raises UserError in the end.

    The logs of what failed are kept.
    """
    logs = Path(tempfile.mkdtemp(prefix="mailkoenig-drill-"))
    failed: list[Verdict] = []
    try:
        with Scratch() as scratch:
            for name in names:
                verdict = one(CASES[name], scratch=scratch, logs=logs / name, seed=seed)
                if verdict.verdict is Result.FAILED:
                    failed.append(verdict)
                else:
                    shutil.rmtree(logs / name, ignore_errors=True)
                yield verdict
    finally:
        if not failed:
            shutil.rmtree(logs, ignore_errors=True)
    if failed:
        reasons = "; ".join(f"{verdict.case}: {verdict.reason}" for verdict in failed)
        raise UserError(f"{len(failed)} of {len(names)} cases failed ({reasons}) The logs are in {logs}.")


def one(case: Case, *, scratch: Scratch, logs: Path, seed: int) -> Verdict:
    """Play one case and judge it."""
    began = time.monotonic()
    try:
        if case.has_own_server:
            with scratch.elsewhere() as restart:
                books, reason = perform(case, Stage(scratch=scratch, logs=logs, seed=seed, restart=restart))
        else:
            scratch.use(scratch.copy())
            books, reason = perform(case, Stage(scratch=scratch, logs=logs, seed=seed))
    except NoServer as error:
        return Verdict(case.name, Result.SKIPPED, f"{error}.", 0, 0, 0, 0, 0, time.monotonic() - began)
    reasons = " ".join([*([reason] if reason else []), *books.problems])
    result = Result.FAILED if reasons else Result.PASSED
    return Verdict(case.name, result, reasons, *books[:5], time.monotonic() - began)


def perform(case: Case, stage: Stage) -> tuple[Books, str]:
    """Play a case on its stage; return the books and why it did not come to its end, if so."""
    with stage:
        reason = ""
        try:
            case.play(stage)
        except UserError as error:
            reason = str(error)
        except Exception as error:
            # The outermost turn of a case: whatever it was, the other cases are played.
            reason = f"{type(error).__name__}: {first_line(error)}."
            (stage.logs / "drill.log").write_text(traceback.format_exc())
        return stage.books(), reason


def table(verdicts: Iterable[Verdict]) -> Table:
    """Return the verdicts as a table."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("case", "verdict"):
        found.add_column(name, no_wrap=True)
    for name in ("people", "accepted", "twice", "lost", "calls", "seconds"):
        found.add_column(name, justify="right")
    for verdict in verdicts:
        numbers = (verdict.people, verdict.accepted, verdict.twice, verdict.lost, verdict.calls)
        found.add_row(
            verdict.case, verdict.verdict.value, *(f"{n:,}" for n in numbers), f"{verdict.seconds:.1f}"
        )
    return found


def show(console: Console, verdict: Verdict) -> None:
    """Say how a case ended."""
    words = f": {verdict.reason}" if verdict.reason else ""
    console.print(
        f"{verdict.verdict.value:<8} {verdict.case}{words}", highlight=False, markup=False, soft_wrap=True
    )
