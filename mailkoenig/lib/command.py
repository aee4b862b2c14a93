"""What every command shares: one clear line on stderr and exit 1 when it fails, 2 for wrong usage."""

import getpass
import os
import select
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db.utils import OperationalError, ProgrammingError


class UserError(Exception):
    """Something a person can mend; the message is one sentence that says what happened and what to do."""


def operator() -> str:
    """Return who runs this command, as the audit trail names them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "somebody"  # a container's user may have no name
    return f"{name} on the command line"


def run(argv: Sequence[str]) -> None:
    """Run the command line `argv`, and turn what a person can mend into one line and exit 1."""
    try:
        execute_from_command_line(list(argv))
        sys.stdout.flush()  # at exit nobody would catch that the reader has gone
    except (UserError, ImproperlyConfigured) as error:
        fail(str(error))
    except OperationalError as error:
        if "--traceback" in argv:
            raise
        fail(
            f"The database does not answer: {first_line(error)}. Check DATABASE_URL and that PostgreSQL runs."
        )
    except ProgrammingError as error:
        if "--traceback" in argv or 'relation "' not in str(error):
            raise
        fail(
            f"The database has no tables yet or old ones ({first_line(error)}): run 'manage.py migrate' first."
        )
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        if is_read():
            raise  # another pipe or connection than our output
        # Whoever read our output has seen enough; what is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def is_read() -> bool:
    """Say whether our output still has a reader."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    return not any(event & select.POLLERR for _, event in poll.poll(0))


def fail(message: str) -> None:
    """Print `message` as the one line on stderr and exit 1."""
    sys.stderr.write(f"{message}\n")
    sys.exit(1)


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, without a full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
