"""REST: following a topic: a long poll that answers as soon as something came.

    GET messages/tail/?topic=orders                 → {"after": token, "messages": []}: from now on
    GET messages/tail/?topic=orders&after=token     → what came since, or nothing after `wait_s`

A poll holds a thread of the console, so only a few may wait at once.
"""

from __future__ import annotations

import threading
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.actions.messages import do_follow_topic
from clusters.api.cluster_view import ClusterView
from clusters.api.message_shapes import MessageSerializer, TopicField, message_json, reader_of
from console.core.models.people import Role
from console.core.needs import Need, Where
from console.core.problems import Problem

AT_ONCE = 32
_waiting = threading.BoundedSemaphore(AT_ONCE)


class TailQuerySerializer(serializers.Serializer[Any]):
    topic = TopicField()
    tag = serializers.CharField(default="*", max_length=255, help_text="`paid`, or `paid || sent`.")
    after = serializers.CharField(required=False, help_text="The token of the answer before.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    wait_s = serializers.FloatField(min_value=0, max_value=20, default=10)


class TailSerializer(serializers.Serializer[Any]):
    messages = MessageSerializer(many=True)
    after = serializers.CharField(help_text="For the next poll.")
    problems = serializers.ListField(child=serializers.CharField(), help_text="Queues that were not read.")


class TailView(ClusterView):
    needs = {"GET": Need(Role.VIEWER, Where.INSIDE)}

    @extend_schema(
        operation_id="messages_tail",
        tags=["messages"],
        parameters=[TailQuerySerializer],
        responses=TailSerializer,
    )
    def get(self, request: Request, cluster: str) -> Response:
        """What came to a topic since the answer before; waits up to `wait_s` for something."""
        asked = TailQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        if not _waiting.acquire(blocking=False):
            raise Problem("busy", "too many follow topics at once", 503, retry_after_s=5)
        try:
            following = do_follow_topic(
                reader_of(self),
                values["topic"],
                values["tag"],
                values.get("after"),
                most=values["limit"],
                wait_s=values["wait_s"],
                now=timezone.now(),
            )
        finally:
            _waiting.release()
        return Response(
            {
                "messages": [message_json(shown) for shown in following.shown],
                "after": following.after,
                "problems": following.problems,
            }
        )
