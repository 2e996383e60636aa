"""A real name server on a real socket."""

from __future__ import annotations

import asyncio
import urllib.request
from pathlib import Path

import orjson
import pytest

from engine.errors import BadInput
from engine.namesrv.main import load_options, log_directory
from engine.namesrv.main import main as namesrv_main
from engine.namesrv.namesrv import Namesrv
from engine.namesrv.options import NamesrvOptions
from engine.net.requester import Requester
from engine.protocol.codes import RequestCode as Q
from engine.protocol.codes import ResponseCode as R
from engine.protocol.commands import Command
from tests.engine.namesrv.test_routes import body, request


@pytest.fixture
def kv_path(tmp_path):
    return tmp_path / "kvConfig.json"


@pytest.fixture
async def server(kv_path):
    made = Namesrv(NamesrvOptions(listen_port=0, kv_config_path=str(kv_path), metrics_prom_exporter_port=0))
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def requester():
    made = Requester(lambda request, client: None)
    yield made
    await made.close()


@pytest.fixture
def call(server, requester):
    address = f"{server.address[0]}:{server.address[1]}"

    async def ask(code, fields=None, body=b"", version=479):
        return await requester.request(
            address, Command(code, fields=fields or {}, body=body, version=version), 3000
        )

    return ask


def register(call, header=None, content=None):
    header, content = header or request(), content or body("orders", "bills")
    return call(Q.REGISTER_BROKER, header.encode(), content.encode())


async def test_a_registered_topic_is_found_in_both_json_styles(call):
    assert (await register(call)).code == R.SUCCESS
    new = await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})
    assert orjson.loads(new.body)["brokerDatas"][0]["brokerAddrs"] == {"0": "10.0.0.1:10911"}
    old = await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"}, version=333)
    assert b'"brokerAddrs":{0:"10.0.0.1:10911"}' in bytes(old.body)


async def test_an_unknown_topic_is_seventeen_with_a_reason(call):
    answer = await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "nothing"})
    assert answer.code == R.TOPIC_NOT_EXIST
    assert "No topic route info in name server for the topic: nothing" in answer.remark


async def test_a_compressed_registration_is_understood(call):
    content = body("orders", "bills").encode(compress=True)
    answer = await call(Q.REGISTER_BROKER, request(compressed=True).encode(), content)
    assert answer.code == R.SUCCESS
    assert (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "bills"})).code == R.SUCCESS


async def test_a_registration_with_a_wrong_crc_is_refused(call):
    answer = await call(Q.REGISTER_BROKER, request(body_crc32=5).encode(), body("a", "b").encode())
    assert (answer.code, answer.remark) == (R.SYSTEM_ERROR, "crc32 not match")


@pytest.mark.parametrize("junk", [b"\x00\x01", b"{", b"[]", b'{"topicConfigSerializeWrapper":5}'])
async def test_a_junk_registration_is_refused(call, junk):
    assert (await call(Q.REGISTER_BROKER, request().encode(), junk)).code == R.SYSTEM_ERROR
    assert (await call(Q.GET_BROKER_CLUSTER_INFO)).code == R.SUCCESS


async def test_a_closed_connection_forgets_its_broker_at_once(server, call):
    broker = Requester(lambda request, client: None)
    address = f"{server.address[0]}:{server.address[1]}"
    await broker.request(
        address, Command(Q.REGISTER_BROKER, fields=request().encode(), body=body("a", "b").encode()), 3000
    )
    assert (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "a"})).code == R.SUCCESS
    await broker.close()
    await forgotten(call)


async def forgotten(call):
    async with asyncio.timeout(5):
        while (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "a"})).code != R.TOPIC_NOT_EXIST:
            await asyncio.sleep(0.01)


async def test_a_broker_that_moved_to_a_new_connection_survives_the_close_of_the_old(server, call):
    address = f"{server.address[0]}:{server.address[1]}"
    command = {"fields": request().encode(), "body": body("a", "b").encode()}
    old, new = Requester(lambda r, c: None), Requester(lambda r, c: None)
    await old.request(address, Command(Q.REGISTER_BROKER, **command), 3000)
    await new.request(address, Command(Q.REGISTER_BROKER, **command), 3000)
    await old.close()
    await asyncio.sleep(0.1)
    assert (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "a"})).code == R.SUCCESS
    await new.close()
    await forgotten(call)


async def test_a_silent_broker_is_dropped_by_the_scan(kv_path):
    options = NamesrvOptions(listen_port=0, kv_config_path=str(kv_path), scan_not_active_broker_interval=50)
    server = Namesrv(options)
    await server.start()
    broker = Requester(lambda request, client: None)
    address = f"{server.address[0]}:{server.address[1]}"
    header = request(heartbeat_timeout_millis=100)
    await broker.request(
        address, Command(Q.REGISTER_BROKER, fields=header.encode(), body=body("a", "b").encode()), 3000
    )
    # The broker's own connection is closed with it.
    client = Requester(lambda request, client: None)
    await forgotten(lambda code, fields: client.request(address, Command(code, fields=fields), 3000))
    await client.close()
    await broker.close()
    await server.stop()


async def test_kv_configuration_is_on_disk_before_the_answer_and_read_again(call, kv_path):
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "orders", "value": "a:4;b:4"}
    assert (await call(Q.PUT_KV_CONFIG, fields)).code == R.SUCCESS
    assert orjson.loads(kv_path.read_bytes()) == {
        "configTable": {"ORDER_TOPIC_CONFIG": {"orders": "a:4;b:4"}}
    }
    assert (await call(Q.GET_KV_CONFIG, fields)).fields == {"value": "a:4;b:4"}
    assert orjson.loads((await call(Q.GET_KVLIST_BY_NAMESPACE, fields)).body) == {
        "table": {"orders": "a:4;b:4"}
    }
    again = Namesrv(NamesrvOptions(listen_port=0, kv_config_path=str(kv_path)))
    assert again._kv.get("ORDER_TOPIC_CONFIG", "orders") == "a:4;b:4"
    assert (await call(Q.DELETE_KV_CONFIG, fields)).code == R.SUCCESS
    assert (await call(Q.GET_KV_CONFIG, fields)).code == R.QUERY_NOT_FOUND
    assert (await call(Q.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"})).code == R.QUERY_NOT_FOUND


async def test_a_torn_kv_file_is_replaced_by_its_backup(kv_path):
    kv_path.write_bytes(b'{"configTable":{"n":')
    kv_path.with_name("kvConfig.json.bak").write_bytes(b'{"configTable":{"n":{"k":"v"}}}')
    assert Namesrv(NamesrvOptions(listen_port=0, kv_config_path=str(kv_path)))._kv.get("n", "k") == "v"


async def test_data_version_tells_whether_to_register_again(call):
    await register(call)
    fields = {"brokerName": "a", "brokerAddr": "10.0.0.1:10911", "clusterName": "c", "brokerId": "0"}
    same = await call(Q.QUERY_DATA_VERSION, fields, b'{"counter":1,"stateVersion":0,"timestamp":1}')
    other = await call(Q.QUERY_DATA_VERSION, fields, b'{"counter":9,"stateVersion":0,"timestamp":1}')
    assert (same.fields["changed"], other.fields["changed"]) == ("false", "true")
    assert orjson.loads(other.body)["counter"] == 1


async def test_operators_lists_and_permissions(call):
    await register(call)
    assert orjson.loads((await call(Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)).body)["topicList"] == [
        "bills",
        "orders",
    ]
    assert orjson.loads((await call(Q.GET_TOPICS_BY_CLUSTER, {"cluster": "c"})).body)["topicList"] == [
        "bills",
        "orders",
    ]
    assert orjson.loads((await call(Q.GET_SYSTEM_TOPIC_LIST_FROM_NS)).body)["topicList"] == ["c", "a"]
    assert orjson.loads((await call(Q.GET_UNIT_TOPIC_LIST)).body)["topicList"] == []
    assert (await call(Q.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})).fields == {"wipeTopicCount": "2"}
    assert (await call(Q.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "a"})).fields == {"addTopicCount": "2"}
    assert (await call(Q.DELETE_TOPIC_IN_NAMESRV, {"topic": "orders"})).code == R.SUCCESS
    members = await call(Q.GET_BROKER_MEMBER_GROUP, {"clusterName": "c", "brokerName": "a"})
    assert b'{0:"10.0.0.1:10911"}' in bytes(members.body)


@pytest.mark.parametrize(
    "text",
    [
        "configStorePath=/x/pwned",
        "kvConfigPath=/etc/cron.d/x",
        "rocketmqHome=-c $@|sh . echo x",
        "orderMessageEnable=true\nkvConfigPath=/x",
        "__class__=x",
        "KVCONFIGPATH=/x",
        "listenPort=1",
    ],
)
async def test_nothing_but_the_allow_list_is_changed_remotely(call, text):
    before = bytes((await call(Q.GET_NAMESRV_CONFIG)).body)
    answer = await call(Q.UPDATE_NAMESRV_CONFIG, body=text.encode())
    assert answer.code == R.NO_PERMISSION
    assert bytes((await call(Q.GET_NAMESRV_CONFIG)).body) == before


async def test_an_allowed_key_is_changed_and_a_bad_value_is_refused(call):
    assert (await call(Q.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true\n")).code == R.SUCCESS
    assert b"orderMessageEnable=true\n" in bytes((await call(Q.GET_NAMESRV_CONFIG)).body)
    answer = await call(Q.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=perhaps\n")
    assert answer.code == R.SYSTEM_ERROR
    assert "orderMessageEnable" in answer.remark


@pytest.mark.parametrize(
    "code", [Q.GET_ROUTEINFO_BY_TOPIC, Q.REGISTER_BROKER, Q.PUT_KV_CONFIG, Q.UNREGISTER_BROKER]
)
async def test_a_missing_field_is_named(call, code):
    answer = await call(code)
    assert answer.code == R.SYSTEM_ERROR
    assert "missing" in answer.remark


async def test_metrics_are_served_over_http(server, call):
    await register(call)
    url = f"http://127.0.0.1:{server.metrics_port}/metrics"
    loop = asyncio.get_running_loop()
    page = await loop.run_in_executor(None, lambda: urllib.request.urlopen(url, timeout=5).read().decode())
    assert "rocketmq_namesrv_brokers 1.0" in page
    assert "rocketmq_namesrv_topics 2.0" in page


def test_options_come_from_the_file_and_the_command_line(tmp_path):
    conf = tmp_path / "namesrv.conf"
    conf.write_text("# comment\nlistenPort=1234\norderMessageEnable = TRUE\nunheardOf=1\n")
    options, unknown = load_options(str(conf), "0.0.0.0:99")
    assert (options.listen_host, options.listen_port, options.order_message_enable) == ("0.0.0.0", 99, True)
    assert unknown == ["unheardOf"]


async def test_the_log_tells_who_comes_and_goes(call, monkeypatch):
    said = []
    monkeypatch.setattr("engine.namesrv.handlers.log.info", lambda text, *values: said.append(text % values))
    who = request()
    await register(call)
    await register(call)
    leave = {"brokerName": who.broker_name, "brokerAddr": who.broker_addr, "clusterName": who.cluster_name}
    await call(Q.UNREGISTER_BROKER, {**leave, "brokerId": "0"})
    assert said == [
        f"broker {who.broker_name} 0 at {who.broker_addr} joined {who.cluster_name}",
        f"broker {who.broker_name} 0 at {who.broker_addr} left {who.cluster_name}",
    ]


async def test_a_metrics_port_in_use_refuses_to_start(server, kv_path):
    options = NamesrvOptions(
        listen_port=0, kv_config_path=str(kv_path), metrics_prom_exporter_port=server.metrics_port
    )
    second = Namesrv(options)
    with pytest.raises(BadInput, match="metrics: cannot listen"):
        await second.start()
    with pytest.raises(OSError):
        await asyncio.open_connection(*second.address)


def test_logs_lie_beside_the_kv_file_unless_told():
    assert log_directory(NamesrvOptions(kv_config_path="/n/kvConfig.json")) == Path("/n/logs")
    assert log_directory(NamesrvOptions(log_dir="/elsewhere")) == Path("/elsewhere")


def test_bind_address_says_where_to_listen_as_in_rocketmq(tmp_path):
    conf = tmp_path / "namesrv.conf"
    conf.write_text("bindAddress=0.0.0.0\nlistenPort=1234\n")
    options, unknown = load_options(str(conf), None)
    assert (options.listen_host, options.listen_port, unknown) == ("0.0.0.0", 1234, [])


@pytest.mark.parametrize(
    "text", ["listenPort=abc", "listenPort=70000", "logLevel=LOUD", "needWaitForService=1"]
)
def test_a_bad_value_refuses_to_start(tmp_path, text, capsys):
    conf = tmp_path / "namesrv.conf"
    conf.write_text(text)
    with pytest.raises(SystemExit):
        namesrv_main(["-c", str(conf)])
    assert text.split("=")[0] in capsys.readouterr().err


async def test_deleted_topics_go_with_the_next_registration_once_that_is_switched_on(call):
    await register(call)
    await register(call, content=body("bills", "late", version=2))
    assert (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})).code == R.SUCCESS
    answer = await call(Q.UPDATE_NAMESRV_CONFIG, body=b"deleteTopicWithBrokerRegistration=true\n")
    assert answer.code == R.SUCCESS
    await register(call, content=body("bills", "late", version=2))
    assert (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})).code == R.TOPIC_NOT_EXIST
    assert (await call(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "late"})).code == R.SUCCESS
