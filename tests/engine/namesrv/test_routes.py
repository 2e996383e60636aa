"""The route table as a pure table: registration rules of protocol.md §2.1, expiry, permissions."""

from __future__ import annotations

from engine.namesrv.routes import RouteTable
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.registration import RegisterBrokerBody
from engine.protocol.bodies.routes import QueueData
from engine.protocol.bodies.topics import TopicConfig, TopicConfigAndMappingSerializeWrapper
from engine.protocol.headers.namesrv import RegisterBrokerRequest

TWO = ("orders", "bills")


def request(broker_id=0, addr="10.0.0.1:10911", name="a", cluster="c", **more):
    return RegisterBrokerRequest(name, addr, cluster, "10.0.0.1:10912", broker_id, **more)


def body(*topics, version=1, state=0, perm=6, queues=4):
    return RegisterBrokerBody(
        TopicConfigAndMappingSerializeWrapper(
            topic_config_table={
                topic: TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues, perm=perm)
                for topic in topics
            },
            data_version=DataVersion(counter=version, timestamp=1, state_version=state),
        )
    )


def registered(*requests_and_bodies):
    table = RouteTable()
    for now, (header, content) in enumerate(requests_and_bodies):
        table.register(header, content, channel=header.broker_addr, now_ms=now)
    return table


def queue_of(table, topic):
    (data,) = table.route(topic).queue_datas
    return data


def test_a_registered_topic_has_a_route_with_all_addresses_of_its_group():
    table = registered((request(), body(*TWO)), (request(1, "10.0.0.2:10911"), body(*TWO)))
    route = table.route("orders")
    assert route.broker_datas[0].broker_addrs == {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"}
    assert queue_of(table, "orders") == QueueData("a", 4, 4, 6, 0)


def test_an_unknown_topic_has_no_route():
    assert registered((request(), body(*TWO))).route("nothing") is None


def test_a_slave_learns_its_master():
    table = registered((request(), body(*TWO)))
    result = table.register(request(1, "10.0.0.2:10911"), body(*TWO), "s", 5)
    assert (result.master_addr, result.ha_server_addr) == ("10.0.0.1:10911", "10.0.0.1:10912")


def test_topics_of_a_slave_do_not_count():
    table = registered((request(1, "10.0.0.2:10911"), body(*TWO)))
    assert table.topics() == []


def test_a_single_topic_from_an_unknown_broker_is_refused():
    assert RouteTable().register(request(), body("one"), "ch", 0) is None


def test_a_single_topic_from_a_known_broker_adds_it():
    table = registered((request(), body(*TWO)), (request(), body("late", version=2)))
    assert table.topics() == ["bills", "late", "orders"]


def test_the_same_data_version_changes_nothing():
    table = registered((request(), body(*TWO)), (request(), body(*TWO, queues=9)))
    assert queue_of(table, "orders").read_queue_nums == 4


def test_a_new_data_version_updates_queues():
    table = registered((request(), body(*TWO)), (request(), body(*TWO, version=2, queues=9)))
    assert queue_of(table, "orders").read_queue_nums == 9


def test_an_older_master_cannot_displace_a_newer_one():
    table = registered((request(), body(*TWO, state=3)))
    result = table.register(request(addr="10.0.0.9:10911"), body(*TWO, state=2), "old", 5)
    assert result.is_refused
    assert table.group("a").addresses == {0: "10.0.0.1:10911"}


def test_a_newer_master_displaces_an_older_one_and_its_close_does_no_harm():
    table = registered((request(), body(*TWO, state=2)))
    table.register(request(addr="10.0.0.9:10911"), body(*TWO, state=3), "new", 5)
    assert table.group("a").addresses == {0: "10.0.0.9:10911"}
    assert table.served_by("10.0.0.1:10911") == []


def test_a_broker_that_changes_its_id_leaves_the_old_one():
    table = registered((request(), body(*TWO)), (request(1), body(*TWO)))
    assert table.group("a").addresses == {1: "10.0.0.1:10911"}


def test_the_last_broker_takes_its_topics_with_it():
    table = registered((request(), body(*TWO)))
    table.unregister("c", "10.0.0.1:10911", "a", 0)
    assert table.topics() == []
    assert table.cluster_info().cluster_addr_table == {}


def test_unregistering_under_another_address_changes_nothing():
    table = registered((request(), body(*TWO)))
    assert not table.unregister("c", "6.6.6.6:1", "a", 0)
    assert table.route("orders") is not None


def test_a_topic_on_two_groups_survives_the_loss_of_one():
    table = registered((request(), body(*TWO)), (request(0, "10.0.0.5:10911", "b"), body(*TWO)))
    table.unregister("c", "10.0.0.1:10911", "a", 0)
    assert [data.broker_name for data in table.route("orders").queue_datas] == ["b"]


def test_expiry_counts_from_the_last_registration_with_the_brokers_own_timeout():
    table = registered((request(heartbeat_timeout_millis=500), body(*TWO)))
    assert table.expired(500) == []
    assert [(address, live.group) for _, address, live in table.expired(501)] == [("10.0.0.1:10911", "a")]
    table.touch("c", "10.0.0.1:10911", 400)
    assert table.expired(501) == []


def test_write_permission_is_wiped_and_given_back():
    table = registered((request(), body(*TWO)))
    assert table.set_write_permission("a", allowed=False) == 2
    assert queue_of(table, "orders").perm == 4
    assert table.set_write_permission("a", allowed=True) == 2
    assert queue_of(table, "orders").perm == 6
    assert table.set_write_permission("nobody", allowed=False) == 0


def test_a_slave_that_acts_as_master_serves_reads_only():
    acting = request(1, "10.0.0.2:10911", enable_acting_master=True)
    table = registered((acting, body(*TWO)))
    assert queue_of(table, "orders").perm == 4


def test_topic_lists():
    table = registered((request(), body(*TWO)), (request(0, "10.0.0.5:1", "b", "other"), body("x", "y")))
    assert table.topics_of_cluster("c") == ["bills", "orders"]
    assert table.topics_of_cluster("none") == []
    names, address = table.system_names()
    assert names == ["c", "other", "a", "b"]
    assert address == "10.0.0.1:10911"


def test_a_topic_is_deleted_everywhere_or_in_one_cluster():
    table = registered((request(), body(*TWO)), (request(0, "10.0.0.5:1", "b", "other"), body(*TWO)))
    table.delete_topic("orders", "other")
    assert queue_of(table, "orders").broker_name == "a"
    table.delete_topic("orders")
    assert table.route("orders") is None


def test_an_operator_adds_a_topic_to_registered_groups_only():
    table = registered((request(), body(*TWO)))
    table.add_topic("made", [QueueData("a", 1, 1, 6, 0), QueueData("ghost", 1, 1, 6, 0)])
    assert queue_of(table, "made").broker_name == "a"


def test_topics_that_a_registration_leaves_out_stay():
    table = registered((request(), body(*TWO)), (request(), body("bills", "late", version=2)))
    assert table.topics() == ["bills", "late", "orders"]


def test_topics_that_a_registration_leaves_out_go_when_the_operator_wants_so():
    table = RouteTable(drops_unregistered=True)
    table.register(request(), body(*TWO), "a", 0)
    table.register(request(addr="10.0.0.9:10911", name="b"), body(*TWO), "b", 0)
    table.register(request(), body("bills", version=2), "a", 1)
    # The other broker still has it.
    assert queue_of(table, "orders").broker_name == "b"
    assert len(table.route("bills").queue_datas) == 2
    table.register(request(addr="10.0.0.9:10911", name="b"), body("bills", version=2), "b", 2)
    assert table.topics() == ["bills"]


def test_a_slave_deletes_no_topic():
    table = RouteTable(drops_unregistered=True)
    table.register(request(), body(*TWO), "m", 0)
    table.register(request(1, "10.0.0.2:10911"), body("bills", "other"), "s", 1)
    assert table.topics() == ["bills", "orders"]
