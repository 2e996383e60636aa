"""JSON that is none, too deep or too large: a clear refusal, never a failure."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

PATH = "/api/v1/tokens/"


@pytest.mark.parametrize(
    "body", [b"{", b"[" * 100_000, b'{"a":' * 5_000, b'{"name": NaN}', b"\xff\xfe", b"\x00", b""]
)
def test_what_is_not_json_is_refused(api: APIClient, body: bytes) -> None:
    answer = api.post(PATH, body, content_type="application/json")
    assert answer.status_code == 400, answer.content


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"7", b"[1, 2]"])
def test_json_that_is_no_object_is_refused(api: APIClient, body: bytes) -> None:
    assert api.post(PATH, body, content_type="application/json").status_code == 400


def test_a_request_has_a_largest_size(api: APIClient, settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    answer = api.post(PATH, b'"' + b"a" * 2_000 + b'"', content_type="application/json")
    assert answer.status_code == 413
