"""What a broker is within its group, and what it declines in each role."""

from __future__ import annotations

import pytest

from engine.access.rules import USER_CODES
from engine.broker.failover.handlers_by_role import DECLINED, routes_of
from engine.broker.failover.role import Role, RoleKind, first_role, role_name
from engine.broker.settings.options import load_options
from engine.errors import Refused
from engine.net.outcomes import Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from tests.engine.broker.peers import RunningBroker

SERVED_IN_EVERY_ROLE = {
    *(RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.PEEK_MESSAGE),
    *(RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.QUERY_CONSUME_QUEUE),
    *(RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.GET_MAX_OFFSET),
    *(RequestCode.GET_MIN_OFFSET, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, RequestCode.POLLING_INFO),
    *(RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT, RequestCode.CHECK_CLIENT_CONFIG),
    *(RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ, RequestCode.QUERY_ASSIGNMENT),
    *(RequestCode.GET_EARLIEST_MSG_STORETIME, RequestCode.GET_CONSUMER_LIST_BY_GROUP),
    # What a slave asks of its master, and operators of any broker.
    *(RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
    *(RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET),
    *(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, RequestCode.GET_TIMER_CHECK_POINT),
    *(RequestCode.GET_TIMER_METRICS, RequestCode.EXCHANGE_BROKER_HA_INFO),
    *(RequestCode.GET_BROKER_HA_STATUS, RequestCode.RESET_MASTER_FLUSH_OFFSET),
    *(RequestCode.GET_BROKER_EPOCH_CACHE, RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT),
    *(RequestCode.GET_BROKER_CONFIG, RequestCode.UPDATE_BROKER_CONFIG),
    *(RequestCode.GET_BROKER_RUNTIME_INFO, RequestCode.VIEW_BROKER_STATS_DATA),
    *(RequestCode.GET_BROKER_CONSUME_STATS, RequestCode.GET_CONSUME_STATS),
    *(RequestCode.GET_TOPIC_CONFIG, RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG),
    *(RequestCode.GET_TOPIC_STATS_INFO, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO),
    *(RequestCode.QUERY_TOPICS_BY_CONSUMER, RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER),
    *(RequestCode.QUERY_CONSUME_TIME_SPAN, RequestCode.QUERY_CORRECTION_OFFSET),
    *(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, RequestCode.GET_ALL_PRODUCER_INFO),
    *(RequestCode.GET_CONSUMER_CONNECTION_LIST, RequestCode.GET_PRODUCER_CONNECTION_LIST),
    *(RequestCode.GET_CONSUMER_RUNNING_INFO, RequestCode.CONSUME_MESSAGE_DIRECTLY),
    *(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE),
    *(RequestCode.DELETE_EXPIRED_COMMITLOG, RequestCode.SIGNALBOX_REPLICA_STATE),
    # A group decides about roles whatever they are.
    *(RequestCode.SIGNALBOX_GROUP_STATUS, RequestCode.SIGNALBOX_GROUP_PROMOTE),
    *(RequestCode.SIGNALBOX_GROUP_PROMISE, RequestCode.SIGNALBOX_GROUP_CROWN),
    *(RequestCode.SIGNALBOX_GROUP_FOLLOW, RequestCode.SIGNALBOX_GROUP_HAND_OVER),
    *(RequestCode.SIGNALBOX_GROUP_RECORD, RequestCode.SIGNALBOX_DAMAGED_RECORDS),
    RequestCode.SIGNALBOX_GROUP_SKIPS,
    # mqadmin changes users on slaves too; ours then take what their master has.
    *USER_CODES,
}


async def test_every_code_is_either_served_in_every_role_or_declined(broker: RunningBroker) -> None:
    served = set(broker.inner.routes)
    declared_missing = {code for code in served if code not in DECLINED and code not in SERVED_IN_EVERY_ROLE}
    assert {RequestCode(code).name for code in declared_missing - _refused_by_all(broker)} == set()
    assert not SERVED_IN_EVERY_ROLE & set(DECLINED)
    assert set(DECLINED) <= served


def _refused_by_all(broker: RunningBroker) -> set[int]:
    """What this version never serves, whatever the role."""
    from engine.broker.admin.handlers import RefusalHandlers

    return set(RefusalHandlers().routes())


def _answer(role: Role, code: int) -> int:
    def serve(request: Command, client: object) -> Reply:
        return Reply()

    routes = routes_of(role, {code: serve})  # type: ignore[dict-item]
    try:
        routes[code](Command(code), None)  # type: ignore[arg-type]
    except Refused as error:
        return error.code
    return 0


@pytest.mark.parametrize(
    ("code", "as_slave"),
    [
        (RequestCode.SEND_MESSAGE_V2, ResponseCode.SYSTEM_BUSY),
        (RequestCode.CONSUMER_SEND_MSG_BACK, ResponseCode.SYSTEM_BUSY),
        (RequestCode.POP_MESSAGE, ResponseCode.SYSTEM_BUSY),
        (RequestCode.END_TRANSACTION, ResponseCode.SLAVE_NOT_AVAILABLE),
        (RequestCode.RECALL_MESSAGE, ResponseCode.SLAVE_NOT_AVAILABLE),
        (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ResponseCode.SYSTEM_ERROR),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, ResponseCode.SYSTEM_ERROR),
        (RequestCode.PULL_MESSAGE, 0),
        (RequestCode.UPDATE_CONSUMER_OFFSET, 0),
    ],
)
def test_a_slave_declines_with_rocketmqs_codes(code: int, as_slave: int) -> None:
    assert _answer(Role(RoleKind.MASTER, 0), code) == 0
    assert _answer(Role(RoleKind.SLAVE, 1), code) == as_slave


def test_a_master_that_may_not_write_yet_sends_producers_on() -> None:
    role = Role(RoleKind.SEEKING, 0)
    assert _answer(role, RequestCode.SEND_MESSAGE_V2) == ResponseCode.SERVICE_NOT_AVAILABLE
    assert _answer(role, RequestCode.UPDATE_AND_CREATE_TOPIC) == ResponseCode.SERVICE_NOT_AVAILABLE
    assert _answer(role, RequestCode.PULL_MESSAGE) == 0


def test_a_refusal_names_the_master() -> None:
    role = Role(RoleKind.SLAVE, 1)
    role.update_master("10.0.0.1:10911", "10.0.0.1:10912")
    refusal = role.refusal()
    assert refusal is not None and "10.0.0.1:10911" in refusal.text
    assert refusal.text.startswith("[REJECTREQUEST]")


def test_a_slave_believes_name_servers_until_its_group_has_chosen() -> None:
    role = Role(RoleKind.SLAVE, 1)
    role.update_master("a:1", "a:2")
    role.update_master("b:1", "b:2")
    assert (role.master_address, role.master_ha_address, role.is_master_alive) == ("b:1", "b:2", True)
    role.update_master(None, None)
    assert (role.master_address, role.is_master_alive) == ("b:1", False)
    role.become(RoleKind.SLAVE, 1, 3, "c:1")
    role.update_master("b:1", "b:2")
    assert (role.master_address, role.master_ha_address) == ("c:1", None)
    role.update_master("c:1", "c:2")
    assert role.master_ha_address == "c:2"


def test_a_master_does_not_listen_to_name_servers() -> None:
    role = Role(RoleKind.MASTER, 0)
    role.update_master("b:1", "b:2")
    assert role.master_address is None


def test_the_first_role() -> None:
    assert first_role(False, 0, False).kind is RoleKind.MASTER
    assert first_role(False, 0, True).kind is RoleKind.SEEKING
    assert first_role(True, 2, True).kind is RoleKind.SLAVE
    assert first_role(True, 2, False).broker_id == 2


def test_the_name_of_the_role() -> None:
    promoted = Role(RoleKind.SLAVE, 1)
    assert role_name("SLAVE", promoted) == "SLAVE"
    promoted.become(RoleKind.MASTER, 0, 2, None)
    assert role_name("SLAVE", promoted) == "SYNC_MASTER"
    assert role_name("ASYNC_MASTER", Role(RoleKind.MASTER, 0)) == "ASYNC_MASTER"


def test_a_master_is_0_whatever_its_configuration_says() -> None:
    options = load_options("brokerRole=SYNC_MASTER\nbrokerId=3\nbrokerIP1=127.0.0.1")
    assert options.broker_id == 0
    assert any("brokerId=3 is taken as 0" in warning for warning in options.warnings)
    assert load_options("brokerRole=SLAVE\nbrokerId=3").broker_id == 3
