"""One subscription of one socket: what the browser has, what it does not have yet, when it may be told.

`offer` takes news as they come; `change` gives the difference to what was told last, at most once a second.
So a reader that is slow costs no more than its rows: news of the same row replace each other. Sequence
numbers rise by one per message; a browser that misses one asks for the state again. Pure, `now_s` passed in.
"""

from __future__ import annotations

from typing import Any

from console.live.channels import Channel

INTERVAL_S = 1.0
QUIET_S = 9.0
"""After this long without a message, news without a change are told too: they carry the age."""

Rows = dict[str, dict[str, Any] | None]
Message = dict[str, Any]


class Feed:
    def __init__(self, channel: Channel, *, rereads: bool = False) -> None:
        self.channel = channel
        self.rereads = rereads
        """News may hold rows that this reader may not see: they only say that rows are to be read."""
        self.seq = 0
        self.state_reason: str | None = "subscribed"
        """Anything: all rows must be read and sent anew."""
        self.is_stale = False
        """Rows must be read, and what became different be sent."""
        self._told: dict[str, dict[str, Any]] = {}
        self._news: Rows = {}
        self._sampled_at: str | None = None
        self._has_news = False
        self._told_s = float("-inf")

    def offer(self, payload: dict[str, Any]) -> None:
        """An event of its channel. What is not from the collector only says that something changed."""
        rows: Rows | None = payload.get("rows")
        if rows is None or self.rereads:
            self.is_stale = True
            return
        self._has_news = True
        self._sampled_at = payload.get("sampled_at")
        if payload.get("is_whole"):
            self._news = dict.fromkeys(self._told.keys() - rows.keys()) | rows
        elif self.channel.names:
            self._news |= {name: row for name, row in rows.items() if name in self.channel.names}
        else:
            self._news |= rows

    def due_in_s(self, now_s: float) -> float | None:
        """None: there is nothing to tell."""
        if self.state_reason is None and not self.is_stale and not self._has_news:
            return None
        return max(0.0, self._told_s + INTERVAL_S - now_s)

    def begin_reading(self) -> None:
        """What comes from now on may be newer than what is read; what came before is in it."""
        self._news, self._has_news = {}, False

    def state(self, rows: dict[str, dict[str, Any]], sampled_at: str | None, now_s: float) -> Message:
        reason, self.state_reason, self.is_stale = self.state_reason, None, False
        self._told = dict(rows)
        self._sampled_at = sampled_at
        return self._message("state", rows, now_s) | {"reason": reason}

    def reread(self, rows: dict[str, dict[str, Any]], sampled_at: str | None, now_s: float) -> Message | None:
        """Rows that were read because something changed."""
        self.is_stale = False
        gone: Rows = dict.fromkeys(self._told.keys() - rows.keys())
        self._news = gone | rows | self._news
        self._sampled_at = sampled_at
        return self.change(now_s)

    def change(self, now_s: float) -> Message | None:
        news, self._news, self._has_news = self._news, {}, False
        changed: dict[str, Any] = {}
        for name, row in news.items():
            before = self._told.get(name)
            if row is None:
                if self._told.pop(name, None) is not None:
                    changed[name] = None
            elif before is None:
                changed[name] = self._told[name] = row
            elif fields := {key: value for key, value in row.items() if before.get(key, _ABSENT) != value}:
                changed[name] = fields
                self._told[name] = row
        if not changed and now_s - self._told_s < QUIET_S:
            return None
        return self._message("change", changed, now_s)

    def _message(self, kind: str, data: dict[str, Any], now_s: float) -> Message:
        self.seq += 1
        self._told_s = now_s
        return {
            "type": kind,
            "channel": self.channel.text,
            "seq": self.seq,
            "sampled_at": self._sampled_at,
            "data": data,
        }


_ABSENT = object()
