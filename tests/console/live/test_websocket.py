"""The websocket through a real uvicorn: who may open it, what it tells, how fast, and what ends it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from clusters.models import Cluster, LiveGroup
from console.actions.rights_changes import note_rights_change
from console.core.models.people import Role
from console.live.consumer import MOST_SOCKETS, NO_RIGHTS, SIGNED_OUT, TOO_LARGE, TOO_MANY, TOO_OFTEN
from engine.client.messages import Message
from engine.client.sending.producer import Producer
from tests.clusters.collecting.orders import commit, make_topic, send
from tests.console.live.sockets import closed, hear, news, opened, publish, say, session_of
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import make_user
from tests.platform_processes import collecting, serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: Any, redis: str) -> Iterator[str]:
    with serving() as address:
        yield address


def make_cluster(name: str) -> Cluster:
    return Cluster.objects.create(
        name=name,
        broker_cluster_name=name,
        kind=Cluster.Kind.ATTACHED,
        name_server_addresses=["127.0.0.1:1"],
        created_at=timezone.now(),
    )


def make_group(cluster: Cluster, name: str, lag: int) -> LiveGroup:
    return LiveGroup.objects.create(cluster=cluster, name=name, lag=lag)


@pytest.fixture
def viewer(db: None) -> str:
    return session_of(make_user("watcher", Role.VIEWER))


@pytest.fixture
def orders(db: None) -> Cluster:
    cluster = make_cluster("orders")
    make_group(cluster, "billing", 7)
    return cluster


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://evil.127.0.0.1", "http://127.0.0.1:1", "https://127.0.0.1"],
)
async def test_a_page_of_another_origin_is_refused(server: str, viewer: str, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with opened(server, viewer, origin=origin):
            pass
    assert caught.value.response.status_code == 403


async def test_who_is_not_signed_in_is_refused(server: str, db: None) -> None:
    for session in ("", "nonsense"):
        with pytest.raises(InvalidStatus):
            async with opened(server, session):
                pass


async def test_a_signed_out_cookie_opens_nothing(server: str, db: None) -> None:
    client = Client()
    await sync_to_async(client.force_login)(await sync_to_async(make_user)("leaver", Role.VIEWER))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    await sync_to_async(client.logout)()
    with pytest.raises(InvalidStatus):
        async with opened(server, session):
            pass


async def test_first_the_state_then_changed_fields_with_rising_numbers(
    server: str, viewer: str, orders: Cluster
) -> None:
    async with opened(server, viewer) as socket:
        await say(socket, type="subscribe", channel="groups/orders?names=billing,unknown")
        state = await hear(socket, "state")
        assert state["data"]["billing"]["lag"] == "7"
        assert state["data"].keys() == {"billing"}
        assert (state["seq"], state["reason"]) == (1, "subscribed")
        row = state["data"]["billing"]
        await publish("groups/orders", news(1, {"billing": row | {"lag": "9"}, "other": {"lag": "1"}}))
        change = await hear(socket, "change")
        assert (change["seq"], change["data"]) == (2, {"billing": {"lag": "9"}})


async def test_a_missed_event_brings_the_state_again(server: str, viewer: str, orders: Cluster) -> None:
    async with opened(server, viewer) as socket:
        await say(socket, type="subscribe", channel="groups/orders?names=billing")
        await hear(socket, "state")
        await publish("groups/orders", news(1, {"billing": {"lag": "8"}}))
        await hear(socket, "change")
        await sync_to_async(LiveGroup.objects.update)(lag=55)
        await publish("groups/orders", news(3, {}))
        state = await hear(socket, "state")
        assert (state["reason"], state["data"]["billing"]["lag"], state["seq"]) == ("gap", "55", 3)


async def test_many_events_of_a_second_make_one_message(server: str, viewer: str, orders: Cluster) -> None:
    async with opened(server, viewer) as socket:
        await say(socket, type="subscribe", channel="groups/orders?names=billing")
        await hear(socket, "state")
        for number in range(1, 41):
            await publish("groups/orders", news(number, {"billing": {"lag": str(100 + number)}}))
        heard = []
        while not heard or heard[-1]["data"]["billing"]["lag"] != "140":
            heard.append(await hear(socket, "change"))
        assert len(heard) <= 3
        assert [told["seq"] for told in heard] == list(range(2, 2 + len(heard)))


async def test_a_client_may_ask_for_the_state_again(server: str, viewer: str, orders: Cluster) -> None:
    async with opened(server, viewer) as socket:
        await say(socket, type="subscribe", channel="toplag/orders")
        assert (await hear(socket, "state"))["data"]["billing"]["lag"] == "7"
        await say(socket, type="resync", channel="toplag/orders")
        assert (await hear(socket, "state"))["reason"] == "asked"
        await say(socket, type="unsubscribe", channel="toplag/orders")
        await hear(socket, "unsubscribed")
        await say(socket, type="ping")
        await hear(socket, "pong")


async def test_other_peoples_clusters_and_names_are_not_there(server: str, orders: Cluster) -> None:
    team = await sync_to_async(make_user)("team", Role.OPERATOR, clusters="orders", names="team-*")
    stranger = await sync_to_async(make_user)("stranger", Role.OPERATOR, clusters="other-*")
    for user, channel in (
        (team, "groups/orders?names=billing"),
        (team, "groups/orders?names=team-a,billing"),
        (team, "cluster/orders"),
        (team, "operations/orders"),
        (stranger, "toplag/orders"),
        (stranger, "groups/orders?names=billing"),
        (stranger, "cluster/orders"),
        (stranger, "jobs/orders"),
    ):
        async with opened(server, await sync_to_async(session_of)(user)) as socket:
            await say(socket, type="subscribe", channel=channel)
            assert (await hear(socket, "error"))["code"] == "not_found", channel


async def test_the_list_of_largest_lags_shows_only_names_one_may_see(server: str, orders: Cluster) -> None:
    await sync_to_async(make_group)(orders, "team-a", 3)
    user = await sync_to_async(make_user)("team", Role.VIEWER, clusters="orders", names="team-*")
    async with opened(server, await sync_to_async(session_of)(user)) as socket:
        await say(socket, type="subscribe", channel="toplag/orders")
        assert (await hear(socket, "state"))["data"].keys() == {"team-a"}
        await sync_to_async(LiveGroup.objects.filter(name="team-a").update)(lag=4)
        await publish("toplag/orders", news(1, {"billing": {"lag": "7"}}) | {"is_whole": True})
        assert (await hear(socket, "change"))["data"] == {"team-a": {"lag": "4"}}


async def test_signing_out_ends_the_socket(server: str, orders: Cluster) -> None:
    user = await sync_to_async(make_user)("leaver", Role.VIEWER)
    client = Client()
    await sync_to_async(client.force_login)(user)
    async with opened(server, client.cookies[settings.SESSION_COOKIE_NAME].value) as socket:
        await say(socket, type="ping")
        await hear(socket, "pong")
        await sync_to_async(client.logout)()
        await sync_to_async(note_rights_change)(user)
        assert await closed(socket) == SIGNED_OUT


async def test_lost_rights_end_the_socket_and_new_ones_do_not(server: str, orders: Cluster) -> None:
    user = await sync_to_async(make_user)("mover", Role.VIEWER, clusters="orders")
    async with opened(server, await sync_to_async(session_of)(user)) as socket:
        await say(socket, type="subscribe", channel="cluster/orders")
        await hear(socket, "state")
        await sync_to_async(user.bindings.update)(role=Role.OPERATOR)
        await sync_to_async(note_rights_change)(user)
        assert (await hear(socket, "state"))["reason"] == "rights"
        await sync_to_async(user.bindings.update)(cluster_pattern="elsewhere")
        await sync_to_async(note_rights_change)(user)
        assert await closed(socket) == NO_RIGHTS


@pytest.mark.parametrize(
    "text",
    ["no json", "[1]", '{"type": "dance"}', '{"type": "subscribe"}', '{"type": "subscribe", "channel": 7}'],
)
async def test_what_is_not_understood_is_answered_and_not_obeyed(server: str, viewer: str, text: str) -> None:
    async with opened(server, viewer) as socket:
        await socket.send(text)
        assert (await hear(socket, "error"))["code"] in ("invalid", "invalid_channel")
        await say(socket, type="ping")
        await hear(socket, "pong")


async def test_too_large_and_too_many_messages_end_the_socket(server: str, viewer: str) -> None:
    async with opened(server, viewer) as socket:
        await socket.send("x" * 70_000)
        assert await closed(socket) == TOO_LARGE
    async with opened(server, viewer) as socket:
        for _ in range(200):
            await say(socket, type="ping")
        assert await closed(socket) == TOO_OFTEN


async def test_sockets_of_one_person_are_limited(server: str, viewer: str) -> None:
    contexts = [opened(server, viewer) for _ in range(MOST_SOCKETS)]
    sockets = [await context.__aenter__() for context in contexts]
    try:
        for socket in sockets:
            await say(socket, type="ping")
            await hear(socket, "pong")
        async with opened(server, viewer) as extra:
            assert await closed(extra) == TOO_MANY
    finally:
        for context in contexts:
            await context.__aexit__(None, None, None)


async def test_a_program_comes_with_a_token_and_without_an_origin(
    server: str, orders: Cluster, fresh: Callable[[str], str]
) -> None:
    from datetime import timedelta

    from console.core.tokens import new_token

    user = await sync_to_async(make_user)(fresh("robot"), Role.OPERATOR)
    now, day = timezone.now(), timedelta(days=1)
    token, secret = await sync_to_async(new_token)(user, "ci", Role.VIEWER, "orders", now=now, lifetime=day)
    headers = {"Authorization": f"Bearer {secret}"}
    async with opened(server, "", origin=None, additional_headers=headers) as socket:
        await say(socket, type="subscribe", channel="cluster/orders")
        assert (await hear(socket, "state"))["data"][""]["lag"] == "7"
    await sync_to_async(type(token).objects.filter(pk=token.pk).update)(revoked_at=now)
    with pytest.raises(InvalidStatus):
        async with opened(server, "", origin=None, additional_headers=headers):
            pass


async def test_lag_moves_within_two_seconds_of_a_send(
    server: str, viewer: str, attached: Cluster, engine: EngineCluster, fresh: Callable[[str], str]
) -> None:
    """Broker, collector, Redis, console, socket: all of them real."""
    topic, group = fresh("orders"), fresh("billing")
    await sync_to_async(make_topic)(attached, topic)
    await sync_to_async(send)(engine, topic, 4)
    await sync_to_async(commit)(attached, topic, group, {0: 0, 1: 0})
    with collecting():
        async with opened(server, viewer) as socket:
            await say(socket, type="subscribe", channel=f"groups/attached?names={group}")
            lag = None
            while lag != "4":
                told = json.loads(await asyncio.wait_for(socket.recv(), 30))
                lag = told["data"].get(group, {}).get("lag", lag)
            async with Producer("ws-tests", namesrv=engine.namesrv) as producer:
                delays: list[float] = []
                for expected in ("5", "6", "7", "8"):
                    began = time.monotonic()
                    await producer.send(Message(topic, b"more"))
                    while lag != expected:
                        told = json.loads(await asyncio.wait_for(socket.recv(), 30))
                        lag = told["data"].get(group, {}).get("lag", lag)
                    delays.append(time.monotonic() - began)
        # Of the first one the route is looked up; one of the others may meet another test's burst of work.
        assert sorted(delays[1:])[1] < 2, delays


async def test_narrower_rights_show_less_at_once(server: str, orders: Cluster) -> None:
    await sync_to_async(make_group)(orders, "team-a", 3)
    user = await sync_to_async(make_user)("mover", Role.VIEWER, clusters="orders")
    async with opened(server, await sync_to_async(session_of)(user)) as socket:
        await say(socket, type="subscribe", channel="toplag/orders")
        assert (await hear(socket, "state"))["data"].keys() == {"billing", "team-a"}
        await sync_to_async(user.bindings.update)(name_pattern="team-*")
        await sync_to_async(note_rights_change)(user)
        assert (await hear(socket, "state"))["data"].keys() == {"team-a"}
        await sync_to_async(LiveGroup.objects.filter(name="team-a").update)(lag=4)
        await publish("toplag/orders", news(1, {"billing": {"lag": "8"}}) | {"is_whole": True})
        assert (await hear(socket, "change"))["data"] == {"team-a": {"lag": "4"}}
