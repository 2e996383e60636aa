"""What views below /clusters/{cluster}/ start from."""

from __future__ import annotations

from functools import cached_property

from clusters.models import Cluster
from clusters.selectors.clusters import get_cluster
from console.core.views import PlatformView


class ClusterView(PlatformView):
    @cached_property
    def cluster(self) -> Cluster:
        return get_cluster(self.kwargs["cluster"])
