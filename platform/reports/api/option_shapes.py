"""Serializers made from the catalogue, so that the schema of the API names every option of every report.

What a request says is judged by the catalogue itself (reports/selectors/options.py): these describe it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from reports.selectors.catalogue import REPORTS, Report
from reports.selectors.options import FLAG, NUMBER, WHOLE, WORD, Option


class ReportOptionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField([WHOLE, NUMBER, "text", WORD, FLAG])
    about = serializers.CharField()
    default = serializers.JSONField(allow_null=True, help_text="Null: the job decides.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField())
    is_list = serializers.BooleanField()


def described_requests(name: str, common: type[serializers.Serializer[Any]]) -> PolymorphicProxySerializer:
    """One shape per report, told apart by `report`."""
    shapes = {report.name: _shape(name, common, report) for report in REPORTS if report.is_listed}
    return PolymorphicProxySerializer(
        component_name=name, serializers=shapes, resource_type_field_name="report"
    )


def _shape(
    name: str, common: type[serializers.Serializer[Any]], report: Report
) -> type[serializers.Serializer[Any]]:
    return type(
        f"{_title(report)}{name}Serializer",
        (common,),
        {"report": _named(report.name), "options": _options(report)(required=False)},
    )


@cache
def _options(report: Report) -> type[serializers.Serializer[Any]]:
    """One class for runs and schedules: the schema knows it by its name."""
    fields = {option.name: _field(option) for option in report.options}
    return type(f"{_title(report)}OptionsSerializer", (serializers.Serializer,), fields)


def _title(report: Report) -> str:
    return "".join(part.title() for part in report.name.split("_"))


def _named(name: str) -> serializers.CharField:
    """Nothing but this: what the shapes are told apart by."""
    field = extend_schema_field({"type": "string", "const": name})
    return field(type("NameField", (serializers.CharField,), {}))()


def _field(option: Option) -> serializers.Field[Any, Any, Any, Any]:
    one = _one(option)
    if option.is_list:
        return serializers.ListField(child=one, max_length=100, required=False, help_text=option.about)
    return one


def _one(option: Option) -> serializers.Field[Any, Any, Any, Any]:
    about: dict[str, Any] = {} if option.is_list else {"required": False, "help_text": option.about}
    if option.kind == WHOLE:
        return serializers.IntegerField(min_value=_int(option.low), max_value=_int(option.high), **about)
    if option.kind == NUMBER:
        return serializers.FloatField(min_value=option.low, max_value=option.high, **about)
    if option.kind == FLAG:
        return serializers.BooleanField(**about)
    if option.kind == WORD:
        return serializers.ChoiceField(list(option.choices), **about)
    return serializers.CharField(max_length=255, **about)


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)
