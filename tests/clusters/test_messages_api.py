"""Messages by REST on a real broker: finding with a budget, reading, masks, sending, following, tracing."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from clusters.gateway.addressing import address_of
from clusters.gateway.sends import Outgoing, Sent, send, send_many
from clusters.models import Cluster, LiveSubscription, MaskRule
from console.core.models import AuditEntry
from console.core.models.people import Role
from engine.client import ConsumeFromWhere, ConsumerOptions, Message, blocking
from engine.client.options import ProducerOptions
from engine.protocol.message_ids import offset_msg_id
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import People, client_of, make_user

HERE = "/api/v1/clusters/attached/messages/"
SECRET = json.dumps({"card": {"number": "4111 1111"}, "to": "bob"}).encode()


@pytest.fixture
def put(attached: Cluster) -> Callable[..., Sent]:
    """Straight to the broker, as an application would."""

    def put_it(topic: str, body: bytes = b"x", **more: Any) -> Sent:
        sent = send(address_of(attached), Outgoing(topic, body, **more))
        assert sent.offset_id, sent
        return sent

    return put_it


@pytest.fixture
def numbered(attached: Cluster, fresh: Callable[[str], str]) -> str:
    """A topic of 100 messages."""
    topic = fresh("numbered")
    messages = [
        Outgoing(topic, b"number %d" % n, "odd" if n % 2 else "even", (f"k{n}", "all"), {"n": str(n)})
        for n in range(100)
    ]
    assert all(sent.offset_id for sent in send_many(address_of(attached), messages))
    return topic


def mask(**values: Any) -> None:
    given = {
        "cluster_pattern": "*",
        "topic_pattern": "*",
        "created_by": "t",
        "created_at": "2030-01-01T00:00Z",
    }
    MaskRule.objects.create(**(given | values))


def find(client: APIClient, **query: Any) -> dict[str, Any]:
    answer = client.get(HERE, query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def pages(client: APIClient, **query: Any) -> Iterator[dict[str, Any]]:
    page = find(client, **query)
    yield page
    while page["continue"]:
        page = find(client, **query | {"continue": page["continue"]})
        yield page


# -- finding ------------------------------------------------------------------------------------------------


def test_a_scan_says_how_far_it_looked_and_goes_on(api: APIClient, numbered: str) -> None:
    found = list(pages(api, topic=numbered, tag="odd", max_scan=40, limit=200))
    assert [page["scanned"] for page in found] == ["40", "80", "100"]
    assert {page["about"] for page in found} == {"100"}
    assert found[0]["note"] == "scanned 40 of about 100, stopped: continue?"
    assert (found[0]["stopped"], found[0]["is_complete"]) == ("scan_budget", False)
    assert (found[2]["stopped"], found[2]["is_complete"], found[2]["continue"]) == ("end", True, None)
    seen = [message["body"]["text"] for page in found for message in page["messages"]]
    assert sorted(seen) == sorted(f"number {n}" for n in range(1, 100, 2))
    times = [message["stored_at"] for page in found for message in page["messages"]]
    assert times == sorted(times, reverse=True)


def test_a_budget_of_time_stops_a_scan_honestly(api: APIClient, numbered: str) -> None:
    page = find(api, topic=numbered, body="never there", max_seconds=0.1, max_scan=100_000)
    assert page["stopped"] in ("time_budget", "end")
    assert page["is_complete"] == (page["stopped"] == "end")


def test_messages_are_found_by_property_and_by_body(api: APIClient, numbered: str) -> None:
    [one] = find(api, topic=numbered, property="n=17")["messages"]
    assert (one["body"]["text"], one["keys"], one["tags"]) == ("number 17", ["k17", "all"], "odd")
    assert len(find(api, topic=numbered, property="n", limit=200)["messages"]) == 100
    assert len(find(api, topic=numbered, body="number 9")["messages"]) == 11


def test_messages_are_found_by_sql92(api: APIClient, numbered: str) -> None:
    found = find(api, topic=numbered, sql="n BETWEEN 10 AND 19 AND TAGS = 'odd'")
    assert sorted(message["properties"]["n"] for message in found["messages"]) == [
        "11",
        "13",
        "15",
        "17",
        "19",
    ]
    assert (found["scanned"], found["is_complete"]) == ("100", True)
    [one] = find(api, topic=numbered, sql="n > 10", key="k42")["messages"]
    assert one["body"]["text"] == "number 42"


def test_messages_are_found_by_time(api: APIClient, numbered: str) -> None:
    everything = find(api, topic=numbered, order="oldest", limit=200)["messages"]
    assert len(everything) == 100
    moment = everything[50]["stored_at"]
    before = find(api, topic=numbered, end=moment, limit=200)["messages"]
    after = find(api, topic=numbered, begin=moment, limit=200)["messages"]
    assert {message["stored_at"] < moment for message in before} <= {True}
    assert {message["stored_at"] >= moment for message in after} == {True}
    assert len(before) + len(after) == 100


def test_a_key_is_found_64_by_64(api: APIClient, numbered: str) -> None:
    found = list(pages(api, topic=numbered, key="all"))
    assert len(found[0]["messages"]) == 64
    bodies = {message["body"]["text"] for page in found for message in page["messages"]}
    assert bodies == {f"number {n}" for n in range(100)}
    assert (found[0]["scanned"], found[0]["note"]) == (None, "there are more: continue?")


def test_an_id_is_found_by_both_of_its_kinds(
    api: APIClient, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent = put(fresh("one"), b"hello", tags="t", keys=("k",), properties={"p": "v"})
    [one] = find(api, topic=sent.topic, unique_key=sent.msg_id)["messages"]
    other = api.get(f"{HERE}{sent.offset_id}/").json()
    assert one == other
    assert (one["queue"], one["queue_offset"]) == (sent.queue, str(sent.queue_offset))
    assert one["properties"]["p"] == "v" and one["born_host"].startswith("127.0.0.1:")
    assert one["body"] == {
        "kind": "text",
        "size": 5,
        "is_cut": False,
        "text": "hello",
        "base64": None,
        "detail": "",
    }


def test_a_queue_is_browsed_both_ways(
    api: APIClient, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    topic = fresh("browsed")
    sent = [put(topic, b"%d" % n, sharding_key="same") for n in range(10)]
    query = {"topic": topic, "broker": sent[0].broker, "queue": sent[0].queue, "limit": 4}

    def browse(**more: Any) -> tuple[list[str], str | None, str | None]:
        page = api.get(f"{HERE}queue/", query | more).json()
        assert (page["min_offset"], page["max_offset"], page["problems"]) == ("0", "10", [])
        return [one["body"]["text"] for one in page["messages"]], page["previous"], page["next"]

    assert browse() == (["0", "1", "2", "3"], None, "4")
    assert browse(offset=4) == (["4", "5", "6", "7"], "4", "8")
    assert browse(offset=8) == (["8", "9"], "8", None)
    assert browse(direction="previous") == (["6", "7", "8", "9"], "6", None)
    assert browse(direction="previous", offset=6) == (["2", "3", "4", "5"], "2", "6")
    absent = api.get(f"{HERE}queue/", query | {"queue": 99})
    assert absent.status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "topic"),
        ({"topic": "../x"}, "topic"),
        ({"topic": "t", "limit": 0}, "limit"),
        ({"topic": "t", "limit": 10**9}, "limit"),
        ({"topic": "t", "begin": "yesterday"}, "begin"),
        ({"topic": "t", "begin": "2026-01-02T00:00Z", "end": "2026-01-01T00:00Z"}, "end"),
        ({"topic": "t", "key": "a", "unique_key": "b"}, "key"),
        ({"topic": "t", "tag": "a\0b"}, "tag"),
        ({"topic": "t", "sql": "n > 10 AND"}, "sql"),
        ({"topic": "t", "sql": "n > 1 OR " * 5000}, "sql"),
    ],
)
def test_a_question_that_makes_no_sense_names_its_field(
    api: APIClient, attached: Cluster, query: dict[str, Any], field: str
) -> None:
    answer = api.get(HERE, query)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_an_unknown_topic_is_not_found(api: APIClient, attached: Cluster) -> None:
    assert api.get(HERE, {"topic": "nobody-has-this"}).status_code == 404


def test_a_token_of_somebody_else_or_of_another_search_is_refused(people: People, numbered: str) -> None:
    token = find(people.viewer, topic=numbered, max_scan=10)["continue"]
    for client, query in [
        (people.operator, {"topic": numbered}),
        (people.viewer, {"topic": numbered, "tag": "odd"}),
        (people.viewer, {"topic": numbered, "order": "oldest"}),
    ]:
        answer = client.get(HERE, query | {"continue": token, "max_scan": 10})
        assert (answer.status_code, answer.json()["code"]) == (400, "continue_token")
    forged = people.viewer.get(HERE, {"topic": numbered, "continue": token[:-3] + "AAA"})
    assert (forged.status_code, forged.json()["code"]) == (400, "continue_token")


@pytest.mark.parametrize("host", [("127.0.0.1", 22), ("169.254.169.254", 80), ("::1", 6379)])
def test_a_forged_id_is_refused(api: APIClient, attached: Cluster, host: tuple[str, int]) -> None:
    answer = api.get(f"{HERE}{offset_msg_id(host, 0)}/")
    assert (answer.status_code, answer.json()["code"]) == (400, "message_id")
    assert api.post(f"{HERE}{offset_msg_id(host, 0)}/resend/", {}, format="json").status_code == 400
    assert api.get(f"{HERE}not-an-id/").status_code == 400


def test_a_place_without_a_message_is_not_found(
    api: APIClient, attached: Cluster, engine: EngineCluster
) -> None:
    host, port = engine.broker.split(":")
    assert api.get(f"{HERE}{offset_msg_id((host, int(port)), 3)}/").status_code == 404


# -- who may see what ---------------------------------------------------------------------------------------


def test_who_may_not_see_a_topic_does_not_find_its_messages(
    attached: Cluster, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent = put(fresh("private"))
    stranger = client_of(make_user("stranger", Role.ADMIN, names="team-*"))
    assert stranger.get(HERE, {"topic": sent.topic}).status_code == 403
    assert stranger.get(f"{HERE}{sent.offset_id}/").status_code == 404
    assert stranger.post(f"{HERE}{sent.offset_id}/resend/", {}, format="json").status_code == 404
    assert stranger.get(f"{HERE}tail/", {"topic": sent.topic}).status_code == 403


def test_a_page_of_messages_takes_a_pinned_number_of_queries(
    people: People, numbered: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    find(people.viewer, topic=numbered, limit=1)  # the first audit row makes the head of the chain
    # session, user, grants, cluster, masks; the audit row: savepoint, head, row, head, release
    with django_assert_num_queries(10):
        assert len(find(people.viewer, topic=numbered, limit=100)["messages"]) == 100


def test_every_read_leaves_one_row_with_counts(people: People, numbered: str) -> None:
    find(people.viewer, topic=numbered, tag="odd", limit=200)
    row = AuditEntry.objects.get(action="message.read")
    assert (row.actor, row.cluster, row.target) == ("viewer", "attached", numbered)
    assert row.details == {"how": "scan", "messages": 50, "masked": 0, "scanned": 100}


def test_a_masked_body_is_hidden_from_lists_downloads_tails_and_searches(
    people: People, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent = put(fresh("cards"), SECRET, keys=("bob",), properties={"user": "bob"})
    mask(topic_pattern="cards*", hides_body=True, properties=["user", "KEYS"], up_to_role=Role.VIEWER)
    one = people.viewer.get(f"{HERE}{sent.offset_id}/").json()
    assert (one["body"]["kind"], one["body"]["text"], one["is_masked"]) == ("masked", None, True)
    assert (one["properties"]["user"], one["keys"]) == ("•••", ["•••"])
    assert "4111" not in json.dumps(find(people.viewer, topic=sent.topic))
    assert people.viewer.get(f"{HERE}{sent.offset_id}/", {"full": "true"}).status_code == 403
    for query in ({"body": "4111"}, {"property": "user=bob"}, {"key": "bob"}, {"sql": "user = 'bob'"}):
        answer = people.viewer.get(HERE, {"topic": sent.topic, **query})
        assert (answer.status_code, answer.json()["code"]) == (403, "masked"), query
    plain = people.operator.get(f"{HERE}{sent.offset_id}/").json()
    assert (plain["body"]["text"], plain["is_masked"]) == (SECRET.decode(), False)


def test_parts_of_json_are_hidden_and_the_rest_shown(
    people: People, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent = put(fresh("cards"), SECRET)
    mask(json_paths=["card.number"])
    one = people.viewer.get(f"{HERE}{sent.offset_id}/").json()
    assert json.loads(one["body"]["text"]) == {"card": {"number": "•••"}, "to": "bob"}
    whole = people.viewer.get(f"{HERE}{sent.offset_id}/", {"full": "true"})
    assert json.loads(whole.content) == {"card": {"number": "•••"}, "to": "bob"}


def test_a_reveal_needs_its_role_and_a_reason_and_is_noted(
    people: People, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent = put(fresh("cards"), SECRET)
    mask(hides_body=True, up_to_role=Role.ADMIN, reveal_role=Role.ADMIN)
    reveal = f"{HERE}{sent.offset_id}/reveal/"
    assert people.operator.post(reveal, {"reason": "ticket 17"}, format="json").status_code == 403
    assert people.admin.post(reveal, {}, format="json").status_code == 400
    assert people.admin.get(f"{HERE}{sent.offset_id}/").json()["body"]["kind"] == "masked"
    answer = people.admin.post(reveal, {"reason": "ticket 17"}, format="json")
    assert answer.json()["body"]["text"] == SECRET.decode()
    row = AuditEntry.objects.get(action="message.reveal")
    assert (row.actor, row.target, row.details["reason"]) == ("admin", sent.topic, "ticket 17")
    assert "4111" not in json.dumps(row.details)


def test_a_masked_message_does_not_leave_its_topic(
    people: People, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent, elsewhere = put(fresh("cards"), SECRET), put(fresh("open"))
    mask(topic_pattern="cards*", hides_body=True)
    resend = f"{HERE}{sent.offset_id}/resend/"
    out = people.operator.post(resend, {"topic": elsewhere.topic}, format="json")
    assert (out.status_code, out.json()["code"]) == (403, "masked")
    assert people.operator.post(resend, {}, format="json").status_code == 200


# -- bodies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [b"<img src=x onerror=alert(1)>", b"\xff\xfe\x00bytes", b"</script><script>", b"x" * 1_000_000]
)
def test_whatever_a_body_holds_it_comes_as_text_or_base64_and_downloads_as_it_is(
    api: APIClient, put: Callable[..., Sent], fresh: Callable[[str], str], body: bytes
) -> None:
    sent = put(fresh("bodies"), body)
    answer = api.get(f"{HERE}{sent.offset_id}/")
    assert answer["Content-Type"] == "application/json"
    view = answer.json()["body"]
    shown = base64.b64decode(view["base64"]) if view["kind"] == "binary" else view["text"].encode()
    assert (view["size"], view["is_cut"]) == (len(body), len(body) > 65536)
    assert body.startswith(shown) and len(shown) == min(len(body), 65536)
    whole = api.get(f"{HERE}{sent.offset_id}/", {"full": "true"})
    assert whole.content == body
    assert whole["Content-Type"] == "application/octet-stream"
    assert whole["X-Content-Type-Options"] == "nosniff"
    assert whole["Content-Disposition"].startswith("attachment")


# -- sending ------------------------------------------------------------------------------------------------


def test_a_message_is_sent_and_answered_in_the_brokers_words(
    people: People, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    topic = put(fresh("sending")).topic
    asked = {"topic": topic, "body": "grüße", "tags": "t", "keys": ["a", "b"], "properties": {"p": "v"}}
    assert people.viewer.post(HERE, asked, format="json").status_code == 403
    answer = people.operator.post(HERE, asked, format="json")
    sent = answer.json()
    assert (answer.status_code, sent["fate"], sent["status"]) == (200, "sent", "SEND_OK")
    stored = people.operator.get(f"{HERE}{sent['offset_id']}/").json()
    assert (stored["msg_id"], stored["queue_offset"]) == (sent["msg_id"], sent["queue_offset"])
    assert (stored["body"]["text"], stored["tags"], stored["keys"]) == ("grüße", "t", ["a", "b"])
    intent, outcome = AuditEntry.objects.filter(action="message.send").order_by("id")
    assert (intent.phase, outcome.phase, outcome.is_ok) == ("intent", "outcome", True)
    assert "grüße" not in json.dumps([intent.details, outcome.details])
    assert len(intent.details["body_sha256"]) == 64


@pytest.mark.parametrize(
    "more",
    [
        {"body_base64": base64.b64encode(b"\x00\xff").decode(), "body": None},
        {"sharding_key": "customer"},
        {"is_transactional": True},
        {"delay_level": 1},
        {"delay_ms": 1000},
    ],
)
def test_each_way_of_sending(
    api: APIClient, put: Callable[..., Sent], fresh: Callable[[str], str], more: dict[str, Any]
) -> None:
    topic = put(fresh("ways")).topic
    asked = {"topic": topic, "body": "x"} | more
    answer = api.post(HERE, {key: value for key, value in asked.items() if value is not None}, format="json")
    assert (answer.status_code, answer.json()["fate"]) == (200, "sent"), answer.content
    assert answer.json()["transaction"] == ("COMMIT" if "is_transactional" in more else "")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"topic": "nobody-has-this"}, 404),
        ({"topic": "%RETRY%g"}, 422),
        ({"topic": "SCHEDULE_TOPIC_XXXX"}, 422),
        ({"topic": "a b"}, 400),
        ({"body": ""}, 400),
        ({"body": None}, 400),
        ({"body_base64": "eA=="}, 400),
        ({"body": None, "body_base64": "***"}, 400),
        ({"body": None, "body_base64": "aäüö"}, 400),
        ({"delay_level": 1, "delay_ms": 5}, 400),
        ({"is_transactional": True, "delay_ms": 5}, 400),
        ({"keys": ["with space"]}, 400),
        ({"properties": {"TAGS": "forged"}}, 422),
        ({"properties": {"a": "b\u0001c"}}, 422),
        ({"body": "x" * (4 * 1024 * 1024 + 1)}, 400),
    ],
)
def test_what_cannot_be_sent_is_refused(
    api: APIClient, attached: Cluster, numbered: str, more: dict[str, Any], status: int
) -> None:
    asked = {"topic": numbered, "body": "x"} | more
    answer = api.post(HERE, {key: value for key, value in asked.items() if value is not None}, format="json")
    assert answer.status_code == status, answer.content
    assert find(api, topic=numbered, max_scan=1)["about"] == "100"


def test_the_stored_bytes_are_sent_again_with_their_origin(
    api: APIClient, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    body = b"\xff\x00" + b"long" * 100_000
    first, other = (
        put(fresh("source"), body, tags="t", keys=("k",), properties={"p": "v"}),
        put(fresh("else")),
    )
    answer = api.post(f"{HERE}{first.offset_id}/resend/", {"topic": other.topic}, format="json")
    assert answer.json()["topic"] == other.topic
    again = f"{HERE}{answer.json()['offset_id']}/"
    assert api.get(again, {"full": "true"}).content == body
    shown = api.get(again).json()
    assert (shown["tags"], shown["keys"], shown["properties"]["p"]) == ("t", ["k"], "v")
    assert shown["properties"]["SIGNALBOX_ORIGIN_ID"] == first.msg_id
    assert shown["properties"]["SIGNALBOX_ORIGIN_TOPIC"] == first.topic
    row = AuditEntry.objects.filter(action="message.resend").order_by("id").first()
    assert row is not None and row.details["offset_id"] == first.offset_id


# -- following and tracing ----------------------------------------------------------------------------------


def test_a_tail_answers_as_soon_as_something_came(
    people: People, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    topic = put(fresh("tail"), b"before").topic
    start = people.viewer.get(f"{HERE}tail/", {"topic": topic}).json()
    assert start["messages"] == []
    timer = threading.Timer(0.3, lambda: put(topic, b"came", tags="t"))
    timer.start()
    query = {"topic": topic, "after": start["after"], "wait_s": 10}
    came = people.viewer.get(f"{HERE}tail/", query).json()
    timer.join()
    assert [one["body"]["text"] for one in came["messages"]] == ["came"]
    nothing = people.viewer.get(f"{HERE}tail/", query | {"after": came["after"], "wait_s": 0}).json()
    assert nothing["messages"] == []
    stolen = people.operator.get(f"{HERE}tail/", query)
    assert (stolen.status_code, stolen.json()["code"]) == (400, "continue_token")


def test_a_trace_tells_sending_storing_waiting_and_tries(
    api: APIClient, attached: Cluster, engine: EngineCluster, fresh: Callable[[str], str]
) -> None:
    topic, group = fresh("traced"), fresh("tracers")
    with blocking.Producer("shop", namesrv=engine.namesrv, options=ProducerOptions(trace=True)) as producer:
        sent = producer.send(Message(topic, b"x", keys="k"))
    first = ConsumerOptions(
        from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, trace=True, rebalance_s=1.0
    )
    got = threading.Event()
    consumer = blocking.PushConsumer(group, lambda message: got.set(), namesrv=engine.namesrv, options=first)
    consumer.subscribe(topic)
    with consumer:
        assert got.wait(20)
    place = {"broker": sent.queue.broker_name, "queue": sent.queue.queue_id, "max": 9}
    for name, committed in [("passed", sent.queue_offset + 1), ("behind", sent.queue_offset), ("new", None)]:
        queues = [place | {"committed": committed}]
        LiveSubscription.objects.create(cluster=attached, group=name, topic=topic, queues=queues)
    story = api.get(f"{HERE}{sent.msg_id}/trace/", {"topic": topic}).json()
    stands = {stand["group"]: stand["has_passed"] for stand in story["groups"]}
    assert stands == {"passed": True, "behind": False, "new": None}
    kinds = [event["kind"] for event in story["events"]]
    assert sorted(kinds) == ["send", "store", "try", "wait"]
    [tried] = [event for event in story["events"] if event["kind"] == "try"]
    assert (tried["group"], tried["is_ok"]) == (group, True)
    assert (tried["attempt"], tried["code"]) == (1, "SUCCESS")
    assert [copy["offset_id"] for copy in story["copies"]] == [sent.offset_msg_id]
    assert story["doubts"]


def test_what_was_not_traced_is_told_as_unknown(
    api: APIClient, put: Callable[..., Sent], fresh: Callable[[str], str]
) -> None:
    sent = put(fresh("untraced"))
    story = api.get(f"{HERE}{sent.msg_id}/trace/", {"topic": sent.topic}).json()
    assert [event["kind"] for event in story["events"]] == ["store"]
    assert any("its sending is not traced" in doubt for doubt in story["doubts"])
    absent = api.get(f"{HERE}{'0' * 32}/trace/", {"topic": sent.topic})
    assert absent.status_code == 404
