"""How a list of millions of messages is narrowed without reading the table."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from campaigns.models import Message, Stream
from campaigns.sql import letters

Status = Message.Status
AGES = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}


class StatusFilter(admin.SimpleListFilter):
    """By state, without asking a table of millions which states it holds."""

    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, str(status.label)) for status in Status]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class StreamFilter(admin.SimpleListFilter):
    title = "stream"
    parameter_name = "stream"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(
            Stream.objects.filter(kind=Stream.Kind.TRANSACTIONAL).values_list("name", "name").order_by("name")
        )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        if not self.value():
            return queryset
        stream = Stream.objects.filter(name=self.value()).values_list("pk", flat=True).first()
        return queryset.filter(stream=stream or 0)


class AgeFilter(admin.SimpleListFilter):
    """By when they were handed in, which their ids tell: there is no index of moments to keep for it."""

    title = "age"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("hour", "The last hour"),
            ("day", "The last 24 hours"),
            ("week", "The last 7 days"),
            ("older", "Older than 7 days"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        match self.value():
            case "hour" | "day" | "week" as age:
                return queryset.filter(pk__gte=letters.first_within(AGES[age]))
            case "older":
                return queryset.filter(pk__lt=letters.first_within(AGES["week"]))
            case _:
                return queryset
