"""REST: tables of a run: pages of JSON, and whole as CSV or Parquet.

GET reports/runs/{id}/tables/{table}/            GET reports/runs/{id}/tables/{table}/download/?format=parquet

What masks hide from the reader is hidden in all of them. Files are named by the run's row; nothing of an
address becomes a path.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.lists import LIMIT, OFFSET, ListView
from console.core import audit
from console.core.fields import Int64Field
from console.core.paging import Pages
from console.core.problems import Problem
from reports.actions.bringing import table_files
from reports.api.runs import SEE, TAGS
from reports.selectors import downloads, tables
from reports.selectors.cells import columns_of, json_rows
from reports.selectors.runs import get_run
from reports.selectors.table_masks import TableMask

_CSV, _PARQUET = "text/csv; charset=utf-8", "application/vnd.apache.parquet"
_MOST_COLUMNS = 200


class ReportColumnSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    type = serializers.CharField(help_text="As Arrow calls it.")


class ReportTablePageSerializer(serializers.Serializer[Any]):
    count = Int64Field(help_text="Rows of the whole table.")
    columns = ReportColumnSerializer(many=True)
    rows = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField(allow_null=True)),
        help_text="Values in the order of the columns; 64-bit numbers are texts, long texts are cut.",
    )
    is_masked = serializers.BooleanField(help_text="Rules hide some of it from you.")


class _TableView(ListView):
    needs = {"GET": SEE}

    def opened(self, run_id: uuid.UUID, table: str) -> tuple[list[Any], Any, TableMask]:
        run = get_run(self.cluster, run_id)
        files = table_files(run, table)
        schema = tables.schema_of(files)
        return files, schema, TableMask(self.cluster.name, self.grants, schema.names)


class TableView(_TableView):
    @extend_schema(
        operation_id="report_tables_read",
        tags=TAGS,
        parameters=[LIMIT, OFFSET, OpenApiParameter("columns", str, description="By comma; all without it.")],
        responses=ReportTablePageSerializer,
    )
    def get(self, request: Request, cluster: str, id: uuid.UUID, table: str) -> Response:
        """A page of a table, in the order in which the report wrote it."""
        files, schema, mask = self.opened(id, table)
        wanted = self._columns(schema.names)
        pages = Pages()
        limit, offset = pages.get_limit(request) or Pages.default_limit, pages.get_offset(request)
        batch = tables.page(files, mask.needed(wanted), offset=offset, limit=limit)
        rows = [] if batch is None else json_rows(mask.apply(batch).select(wanted))
        columns = [column for column in columns_of(schema) if column["name"] in wanted]
        body = {
            "count": tables.count_rows(files),
            "columns": sorted(columns, key=lambda column: wanted.index(column["name"])),
            "rows": rows,
            "is_masked": mask.hides_something,
        }
        return Response(ReportTablePageSerializer(body).data)

    def _columns(self, names: list[str]) -> list[str]:
        asked = [name for name in self.text_of("columns").split(",") if name]
        for name in asked:
            if name not in names:
                raise Problem("invalid", f"there is no column {name!r}", 400, field="columns")
        return list(dict.fromkeys(asked or names))[:_MOST_COLUMNS]


class DownloadView(_TableView):
    @extend_schema(
        operation_id="report_tables_download",
        tags=TAGS,
        parameters=[OpenApiParameter("format", str, enum=["parquet", "csv"], default="parquet")],
        responses={
            (200, _PARQUET): OpenApiResponse(OpenApiTypes.BINARY, "One file, however many the job wrote."),
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "With a head line; no cell is a formula."),
        },
    )
    def get(self, request: Request, cluster: str, id: uuid.UUID, table: str) -> StreamingHttpResponse:
        """The whole table, as a stream."""
        form = self.text_of("format") or "parquet"
        if form not in ("parquet", "csv"):
            raise Problem("invalid", f"format is parquet or csv, not {form!r}", 400, field="format")
        files, schema, mask = self.opened(id, table)
        details = {"run": str(id), "format": form, "is_masked": mask.hides_something}
        audit.record(
            self.actor,
            "report.download",
            cluster=self.cluster.name,
            target=table,
            details=details,
            now=timezone.now(),
        )
        pieces = _pieces(form, files, schema, mask)
        stream = _astream(pieces) if isinstance(request._request, ASGIRequest) else pieces
        response = StreamingHttpResponse(stream, content_type=_CSV if form == "csv" else _PARQUET)
        # The table's name is one of the run's own, of letters, digits and underscores.
        response["Content-Disposition"] = f'attachment; filename="{table}-{id}.{form}"'
        return response


def _pieces(form: str, files: list[Any], schema: Any, mask: TableMask) -> Iterator[bytes]:
    if form == "parquet" and len(files) == 1 and not mask.hides_something:
        return downloads.as_file(files[0])
    found = map(mask.apply, tables.batches(files))
    return downloads.as_csv(schema, found) if form == "csv" else downloads.as_parquet(schema, found)


async def _astream(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Django would gather a plain iterator in memory before it sends the first byte over ASGI."""
    while (piece := await sync_to_async(next)(pieces, None)) is not None:
        yield piece


_HERE = "clusters/<str:cluster>/reports/runs/<uuid:id>/tables/<str:table>/"

urlpatterns = [
    path(_HERE, TableView.as_view(), name="report-table"),
    path(f"{_HERE}download/", DownloadView.as_view(), name="report-table-download"),
]
