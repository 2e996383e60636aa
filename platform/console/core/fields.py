"""Serializer fields of this API: 64-bit numbers as strings, names by RocketMQ's rules, secrets write-only."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from engine.protocol.names import is_valid_group, is_valid_topic

_INT64 = 2**63 - 1


@extend_schema_field({"type": "string", "pattern": "^-?[0-9]{1,19}$"})
class Int64Field(serializers.Field[Any, Any, Any, Any]):
    """An offset, an id, a size: a string in JSON (a number is accepted), an int in Python."""

    default_error_messages = {"invalid": "not a whole number of at most 64 bits"}

    def __init__(self, *, minimum: int = -(2**63), **options: Any) -> None:
        super().__init__(**options)
        self._minimum = minimum

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, (int, str)) or len(str(data)) > 20:
            self.fail("invalid")
        try:
            value = int(data)
        except ValueError:
            self.fail("invalid")
        if not self._minimum <= value <= _INT64:
            self.fail("invalid")
        return value

    def to_representation(self, value: Any) -> str | None:
        return None if value is None else str(value)


@extend_schema_field(OpenApiTypes.STR)
class TopicNameField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=127, **options)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not is_valid_topic(name):
            raise serializers.ValidationError("letters, digits, %, |, - and _ only, 127 at most", "name")
        return name


@extend_schema_field(OpenApiTypes.STR)
class GroupNameField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=248, **options)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not is_valid_group(name):
            raise serializers.ValidationError("letters, digits, %, |, - and _ only", "name")
        return name
