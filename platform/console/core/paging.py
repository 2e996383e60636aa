"""Pages of long lists: ?limit=&offset=, with the total. Sorting and searching happen in the database."""

from __future__ import annotations

from rest_framework.pagination import LimitOffsetPagination


class Pages(LimitOffsetPagination):
    default_limit = 50
    max_limit = 500
    limit_query_description = "Rows of one page, 500 at most."
    offset_query_description = "Rows to skip."

    def get_offset(self, request) -> int:  # type: ignore[no-untyped-def]
        """A number beyond what databases take is past the end, not an error of theirs."""
        return min(super().get_offset(request), 10**9)
