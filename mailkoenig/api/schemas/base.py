"""What the schemas of all resources share."""

from datetime import UTC, datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, ConfigDict, Field, WithJsonSchema

PAGE = 50
LARGEST_PAGE = 200


class Body(Schema):
    """What a caller sends: a field that we do not know is a mistake, not something to pass over."""

    model_config = ConfigDict(extra="forbid")


def only_text(value: Any) -> Any:
    """Refuse numbers, which would be read as seconds since 1970."""
    if value is not None and not isinstance(value, str | datetime):
        raise ValueError("Write a moment such as 2027-03-29T09:00:00Z.")
    return value


def in_reach(moment: datetime) -> datetime:
    """Refuse moments that the database could take and never give back."""
    if not 2000 <= moment.year < 2200:
        raise ValueError("Give a moment between 2000 and 2200.")
    return moment.astimezone(UTC)


def only_bool(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("Write true or false.")
    return value


Moment = Annotated[
    AwareDatetime,
    BeforeValidator(only_text),
    AfterValidator(in_reach),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2027-03-29T09:00:00Z"]}),
]
Flag = Annotated[bool, BeforeValidator(only_bool), WithJsonSchema({"type": "boolean"})]
Limit = Annotated[int, Field(ge=1, le=LARGEST_PAGE, description="Most rows of a page.")]
Cursor = Annotated[
    str, Field(pattern=r"^[0-9]{1,18}$", description="`next` of the page before; leave it out for the first.")
]


class ProblemOut(Schema):
    """RFC 9457. `errors` names the fields."""

    type: str = Field(description="What to tell problems apart by; about:blank where the status says it all.")
    title: str
    status: int
    detail: str = Field(description="What happened and what to do.")
    errors: list["FieldProblem"] = []


class FieldProblem(Schema):
    field: str
    message: str


ProblemOut.model_rebuild()
