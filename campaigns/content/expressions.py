"""What stands inside a tag, as functions of a person. Django parses it; only our names and filters exist in it."""

import operator
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from django.template import TemplateSyntaxError
from django.template.base import FilterExpression, Variable
from django.template.smartif import IfParser, Literal, TokenBase

from campaigns.content.filters import FILTERS, Filter, default, number, text_of
from campaigns.content.people import BUILT_IN, Getter, Person, attribute_of

Evaluate = Callable[[Person], Any]
Condition = Callable[[Person], bool]

MOST_FILTERS = 8
MOST_REMEMBERED = 100
LITERALS = {"True": "true", "False": "false", "None": ""}
FALSE = frozenset({"", "0", "false", "False", "FALSE"})


class Refused(Exception):
    """The tag says something that the language doesn't have; the message is for the author."""


class OnlyFilters:
    """As much of Django's template parser as an expression asks for."""

    def find_filter(self, name: str) -> Filter:
        if name not in FILTERS:
            raise Refused(f"there is no filter “{name}”; there are {', '.join(sorted(FILTERS))}.")
        return FILTERS[name]


class Expression:
    """A variable or literal with its filters."""

    __slots__ = ("has_default", "parsed", "source")

    def __init__(self, source: str) -> None:
        if "_(" in source:
            raise Refused("translations are not available here.")
        try:
            self.parsed = FilterExpression(source, OnlyFilters())  # type: ignore[arg-type]  # all that it calls
        except TemplateSyntaxError as error:
            raise Refused(explain(error, source)) from error
        if self.parsed.var is None:
            raise Refused("it is empty; write it like {{ name }}.")
        if len(self.parsed.filters) > MOST_FILTERS:
            raise Refused(f"it has more than {MOST_FILTERS} filters.")
        self.source = source
        self.has_default = any(function is default for function, _ in self.parsed.filters)

    def names(self) -> Iterator[str]:
        """Name every variable it reads, its filters' arguments included."""
        arguments = (argument for _, pairs in self.parsed.filters for _, argument in pairs)
        for part in (self.parsed.var, *arguments):
            if isinstance(part, Variable) and part.literal is None and part.var not in LITERALS:
                yield str(part.var)

    def evaluator(self, *, fallbacks: dict[str, str]) -> Evaluate:
        """Return what computes it; an empty variable without a default is what `fallbacks` says."""
        value = read(self.parsed.var)
        fallback = "" if self.has_default else fallbacks.get(text_of(getattr(self.parsed.var, "var", "")), "")
        steps = [(function, [read(part) for _, part in pairs]) for function, pairs in self.parsed.filters]
        if fallback:
            value = otherwise(value, fallback)
        for function, arguments in steps:
            value = apply(value, function, arguments)
        return value

    def text(self, *, fallbacks: dict[str, str]) -> Getter:
        """Return what computes its text."""
        value = self.evaluator(fallbacks=fallbacks)
        if not self.parsed.filters and any(self.names()):
            return value
        return lambda person: text_of(value(person))


def read(part: object) -> Evaluate:
    """Return what computes a variable, or the constant that `part` is."""
    if not isinstance(part, Variable):
        constant: object = str(part)
    elif part.literal is not None:
        constant = part.literal
    elif part.var in LITERALS:
        constant = LITERALS[str(part.var)]
    else:
        return getter(str(part.var))
    return lambda person: constant


def getter(name: str) -> Getter:
    return BUILT_IN.get(name) or attribute_of(name)


def otherwise(value: Evaluate, fallback: str) -> Evaluate:
    return lambda person: value(person) or fallback


def apply(value: Evaluate, function: Filter, arguments: list[Evaluate]) -> Evaluate:
    if function is default:
        (other,) = arguments
        return lambda person: text if (text := value(person)) != "" else other(person)
    if not arguments:
        return lambda person: function(value(person))
    (argument,) = arguments
    return lambda person: function(value(person), argument(person))


def first_of(expressions: Iterable[Expression]) -> Getter:
    """Return what computes the first of them that is true."""
    values = [expression.evaluator(fallbacks={}) for expression in expressions]
    return lambda person: next((text_of(found) for value in values if is_true(found := value(person))), "")


class ConditionParser(IfParser):
    """Django's parser of conditions, over our expressions."""

    error_class = Refused

    def __init__(self, words: list[str]) -> None:
        self.expressions: list[Expression] = []
        super().__init__([*words])

    def create_var(self, value: object) -> Literal:
        expression = Expression(str(value))
        self.expressions.append(expression)
        return Operand(expression)


class Operand(Literal):
    """A leaf of a condition."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def display(self) -> str:
        return self.expression.source


def condition(tree: TokenBase) -> Condition:
    """Return the truth of a parsed condition as a function of a person."""
    value = evaluate(tree)
    return lambda person: is_true(value(person))


def remembered(holds: Condition, *, names: Set[str]) -> Condition:
    """Return a condition that is computed once for all people whose attributes `names` are the same."""
    if not names or names & BUILT_IN.keys():
        return holds
    reads = [attribute_of(name) for name in sorted(names)]
    known: dict[tuple[str, ...], bool] = {}

    def recalled(person: Person) -> bool:
        facts = tuple([read(person) for read in reads])
        found = known.get(facts)
        if found is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            found = known[facts] = holds(person)
        return found

    return recalled


def evaluate(tree: TokenBase) -> Evaluate:
    if isinstance(tree, Operand):
        return tree.expression.evaluator(fallbacks={})
    first = evaluate(tree.first)
    if tree.id == "not":
        return lambda person: not is_true(first(person))
    second = evaluate(tree.second)
    if tree.id == "and":
        return lambda person: is_true(first(person)) and is_true(second(person))
    if tree.id == "or":
        return lambda person: is_true(first(person)) or is_true(second(person))
    compare = COMPARISONS[tree.id]
    return lambda person: compare(first(person), second(person))


def is_true(value: object) -> bool:
    """Say whether a value counts as true; "0" and "false" do not, as a file has no other way to say so."""
    return value not in FALSE if isinstance(value, str) else bool(value)


def as_numbers(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    """Return `compare` for numbers, spelled ones too, and for text where one of the two is none."""

    def compared(left: object, right: object) -> bool:
        numbers = number(left), number(right)
        return compare(*(numbers if None not in numbers else (text_of(left), text_of(right))))

    return compared


def is_in(left: object, right: object) -> bool:
    return text_of(left) in text_of(right)


COMPARISONS: dict[str, Callable[[object, object], bool]] = {
    "==": as_numbers(operator.eq),
    "is": as_numbers(operator.eq),
    "!=": as_numbers(operator.ne),
    "is not": as_numbers(operator.ne),
    ">": as_numbers(operator.gt),
    ">=": as_numbers(operator.ge),
    "<": as_numbers(operator.lt),
    "<=": as_numbers(operator.le),
    "in": is_in,
    "not in": lambda left, right: not is_in(left, right),
}


def explain(error: TemplateSyntaxError, source: str) -> str:
    """Return Django's complaint in words for an author."""
    if "Variables and attributes may not begin with underscores" in str(error):
        return "names don't begin with an underscore, and parts of values can't be reached."
    if "requires" in str(error) and "provided" in str(error):
        return f'{error}: write it like default:"there".'
    return f'“{source}” can\'t be understood; write it like name or name|default:"there".'
