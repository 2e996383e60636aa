"""Python's collector of cycles, told about a process that lasts: what is loaded stays, and is set aside.

A page of five hundred rows makes enough objects for a collection of everything, and everything is then most
of Django: a fifth of a second, in the middle of somebody's page. What there is when the server begins is
never garbage; without it, collections of all that came since are cheap.
"""

from __future__ import annotations

import gc

from django.urls import get_resolver


def set_aside_what_is_loaded() -> None:
    """Once, when all is imported; the views are, after this."""
    assert get_resolver().url_patterns
    gc.collect()
    gc.freeze()


def make_room_for_tables() -> None:
    """Once, for the collector: a snapshot of a large cluster is some 100,000 objects and no cycle, and
    looking for one every 700 of them takes time from every round."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def set_aside_tables(*, looks_at_all: bool = False) -> None:
    """Every few seconds, for the collector: what came since is looked through once, and its tables are not
    looked through again with it (a second and a half at ten thousand topics). What became garbage after it
    was set aside, and only as a cycle, waits for a look at all."""
    if looks_at_all:
        gc.unfreeze()
    gc.collect(2 if looks_at_all else 1)
    gc.freeze()
