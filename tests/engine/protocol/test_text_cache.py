"""What is remembered of texts: the same object again, and never more than so many characters."""

from __future__ import annotations

import pytest

from engine.protocol.text_cache import TextCache


def cache_of(most_chars: int) -> tuple[TextCache[list[str]], list[str]]:
    made: list[str] = []

    def make(text: str) -> list[str]:
        if not text:
            raise ValueError("nothing to make")
        made.append(text)
        return [text]

    return TextCache(make, most_chars), made


def test_a_text_is_made_into_something_once() -> None:
    cache, made = cache_of(10_000)
    assert cache("a") is cache("a")
    assert made == ["a"]


def test_what_cannot_be_made_is_tried_again() -> None:
    cache, _ = cache_of(10_000)
    for _ in range(2):
        with pytest.raises(ValueError, match="nothing"):
            cache("")
    assert len(cache) == 0


def test_many_or_long_texts_push_out_what_is_not_asked_for() -> None:
    for length in (1, 1_000):
        cache, made = cache_of(10_000)
        favourite = cache("favourite")
        for number in range(1_000):
            cache(str(number) * length)
            assert cache("favourite") is favourite
            assert len(cache) * (64 + length) <= 10_000 + 64 + 4 * length
        assert made.count("favourite") == 1
        cache("0" * length)
        assert made.count("0" * length) == 2


def test_a_text_longer_than_all_that_is_remembered_is_made_all_the_same() -> None:
    cache, _ = cache_of(100)
    assert cache("x" * 1_000) == ["x" * 1_000]
    assert cache("y") == ["y"]
