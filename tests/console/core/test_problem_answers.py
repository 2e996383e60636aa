"""Errors as problem+json: one shape, a machine code, the field."""

from __future__ import annotations

from django.http import Http404
from rest_framework import exceptions, serializers

from console.core.problem_answers import describe
from console.core.problems import Problem


class Member(serializers.Serializer):
    host = serializers.CharField(max_length=3)


class Layout(serializers.Serializer):
    name = serializers.CharField()
    members = Member(many=True)

    def validate(self, data: dict) -> dict:
        raise serializers.ValidationError("too small", "layout")


def details(data: dict) -> list:
    checked = Layout(data=data)
    try:
        checked.is_valid(raise_exception=True)
    except exceptions.ValidationError as error:
        return describe(error)["errors"]
    raise AssertionError("valid")


def test_a_field_is_named_with_its_path() -> None:
    found = details({"members": [{"host": "abc"}, {"host": "abcd"}]})
    assert [(one["field"], one["code"]) for one in found] == [
        ("name", "required"),
        ("members[1].host", "max_length"),
    ]


def test_what_concerns_the_whole_has_no_field() -> None:
    assert details({"name": "x", "members": []}) == [{"field": None, "code": "layout", "detail": "too small"}]


def test_our_own_problems_keep_code_status_and_more() -> None:
    body = describe(Problem("busy", "later", 409, operation="1"))
    assert body == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "code": "busy",
        "detail": "later",
        "operation": "1",
    }


def test_what_nobody_foresaw_tells_nothing() -> None:
    body = describe(RuntimeError("password=hunter2"))
    assert (body["status"], body["code"]) == (500, "internal")
    assert "hunter2" not in str(body)


def test_frameworks_errors_have_codes() -> None:
    assert describe(Http404())["code"] == "not_found"
    assert describe(exceptions.Throttled())["code"] == "throttled"
    assert describe(exceptions.NotAuthenticated())["status"] == 401
