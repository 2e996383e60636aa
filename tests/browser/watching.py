"""What a page must not do while a test looks at it: log errors, fail, break the content policy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Response


@dataclass
class Watch:
    """`allow(409)`: this test wants to see such an answer."""

    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Addresses below /api/ that were asked for, in order."""
    _allowed: set[int] = field(default_factory=set)

    def allow(self, *statuses: int) -> None:
        self._allowed |= set(statuses)

    def follow(self, context: BrowserContext) -> None:
        context.on("page", self._follow_page)
        context.on("console", self._hear)
        context.on("weberror", lambda error: self.problems.append(f"failed: {error.error}"))
        context.on("response", self._see)

    def _follow_page(self, page: Page) -> None:
        page.on("crash", lambda _: self.problems.append("the page crashed"))

    def _hear(self, message: ConsoleMessage) -> None:
        # An answer that is not fine is judged by its status below; browsers log each of them as well.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(f"logged: {message.text[:500]}")

    def _see(self, response: Response) -> None:
        path = re.sub(r"^https?://[^/]+", "", response.url)
        if path.startswith("/api/"):
            self.requests.append(f"{response.request.method} {path}")
        if response.status >= 400 and response.status not in self._allowed:
            self.problems.append(f"{response.status} {response.request.method} {path}")

    def check(self) -> None:
        assert not self.problems, "\n".join(self.problems)
