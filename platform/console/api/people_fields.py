"""Serializer fields about people: roles by name, patterns of clusters and names."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.core.models.people import PATTERN_LENGTH, Role

_ROLES = {role.label: role.value for role in Role}
_MOST_STARS = 8


@extend_schema_field({"type": "string", "enum": list(_ROLES)})
class RoleField(serializers.Field[Any, Any, Any, Any]):
    default_error_messages = {"invalid": f"one of {', '.join(_ROLES)}"}

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or data not in _ROLES:
            self.fail("invalid")
        return _ROLES[data]

    def to_representation(self, value: Any) -> str:
        return Role(value).label


class PatternField(serializers.RegexField):
    """`*` any text, `?` one character; few stars, for each makes refusing a name slower."""

    def __init__(self, **options: Any) -> None:
        super().__init__(r"^[A-Za-z0-9_.%|*?-]+$", max_length=PATTERN_LENGTH, **options)

    def to_internal_value(self, data: Any) -> str:
        pattern = super().to_internal_value(data)
        if pattern.count("*") > _MOST_STARS:
            raise serializers.ValidationError(f"at most {_MOST_STARS} stars", "pattern")
        return pattern
