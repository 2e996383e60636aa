"""REST: where Spark finds a cluster's stores.

GET|PUT reports/stores/

A managed cluster's hosts know theirs. An attached one's are told by an administrator of the platform, and
read only below what the host's own environment allows (SIGNALBOX_STORES).
"""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.cluster_view import ClusterView
from console.core.models.people import Role
from console.core.needs import Need, Where
from reports.actions.stores import StoresWish, do_set_stores
from reports.api.run_shapes import ReportStoreSerializer
from reports.api.runs import SEE, TAGS
from reports.models import ClusterStores


class ClusterStoresSerializer(serializers.Serializer[Any]):
    is_shared = serializers.BooleanField(
        default=False, help_text="Every host sees the stores under the same paths: any may run."
    )
    host = serializers.CharField(
        max_length=64, default=None, allow_null=True, help_text="Who has the disks of an attached cluster."
    )
    stores = ReportStoreSerializer(
        many=True, max_length=64, default=list, help_text="Of an attached cluster."
    )


class StoresView(ClusterView):
    needs = {"GET": SEE, "PUT": Need(Role.ADMIN, Where.PLATFORM)}

    @extend_schema(operation_id="report_stores_get", tags=TAGS, responses=ClusterStoresSerializer)
    def get(self, request: Request, cluster: str) -> Response:
        """What was said; of a managed cluster nothing has to be."""
        row = ClusterStores.objects.select_related("host").filter(cluster=self.cluster).first()
        return Response(ClusterStoresSerializer(_shown(row)).data)

    @extend_schema(
        operation_id="report_stores_update",
        tags=TAGS,
        request=ClusterStoresSerializer,
        responses=ClusterStoresSerializer,
    )
    def put(self, request: Request, cluster: str) -> Response:
        """Where an attached cluster's stores are, and which host has the disks; of a managed cluster only
        whether all hosts see them."""
        asked = ClusterStoresSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        said = StoresWish(
            values["is_shared"], values["host"], tuple(dict(store) for store in values["stores"])
        )
        row = do_set_stores(self.cluster, said, actor=self.actor, now=timezone.now())
        return Response(ClusterStoresSerializer(_shown(row)).data)


def _shown(row: ClusterStores | None) -> dict[str, Any]:
    if row is None:
        return {"is_shared": False, "host": None, "stores": []}
    host = None if row.host is None else row.host.name
    return {"is_shared": row.is_shared, "host": host, "stores": row.stores}


urlpatterns = [path("clusters/<str:cluster>/reports/stores/", StoresView.as_view(), name="report-stores")]
