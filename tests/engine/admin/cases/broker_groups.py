"""Replication: broker groups, their members, promotion."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

MEMBERS = "Member, Addr, Role, Epoch, Log start, Log end, Confirmed, In sync, Trouble"
REPLICATION = "Broker, Role, Max Offset, Peer, Peer Offset, Diff, KB/s, In Sync"
READY = (
    Effect("groupStatus -b {master}", {"member": 1, "role": "slave", "in_sync": "yes"}),
    Effect("clusterList", {"addr": "{master}", "bid": 0}),
    Effect("clusterList", {"addr": "{slave}", "bid": 1}),
)
NO_GROUP = "this broker is in no group"

GOOD = {
    "haStatus": [
        Good(
            "-c {cluster}",
            REPLICATION,
            {"Broker": "{master}", "Role": "master", "Peer": "{slave}", "Diff": "0", "In Sync": "yes"},
            document={"{master}": {"master": True, "haConnectionInfo": {"addr": "{slave}", "inSync": True}}},
            ready=READY,
        ),
        Good(
            "-b {slave}",
            REPLICATION,
            {"Broker": "{slave}", "Role": "slave", "Peer Offset": "", "In Sync": ""},
            document={"{slave}": {"master": False}},
        ),
        Good(
            "-b {broker}",
            REPLICATION,
            {"Broker": "{broker}", "Role": "master", "Peer": "none"},
            document={"{broker}": {"master": True, "haConnectionInfo": []}},
        ),
    ],
    "groupStatus": [
        Good(
            place,
            MEMBERS,
            {
                "Member": "1",
                "Addr": "{slave}",
                "Role": "slave",
                "Log start": "0",
                "In sync": "yes",
                "Trouble": "-",
            },
            ready=READY,
        )
        for place in ("-b {slave}", "-m {group_name}")
    ],
    "promote": [
        Good(
            "-m {group_name} --to 1",
            says="member 1 at {slave} is master of epoch *",
            document={"masterId": 1, "masterAddr": "{slave}", "silentMembers": []},
            shows=Effect("groupStatus -b {slave}", {"member": 1, "role": "master"}),
            ready=READY,
            cleanup=("promote -b {master} --to 0",),
        )
    ],
}

BAD = {
    "haStatus": [Bad("-c nowhere", 1, "no cluster is called nowhere")],
    "groupStatus": [
        Bad("-m stranger", 1, "BROKER_NOT_EXIST (211): no broker is called stranger"),
        Bad("-m {broker_name}", 1, f"no member of admin-a answers: SYSTEM_ERROR (1): {NO_GROUP}"),
        Bad("-b {broker}", 1, NO_GROUP),
    ],
    "promote": [
        Bad("-m stranger", 1, "no broker is called stranger"),
        Bad("-b {broker}", 1, NO_GROUP),
        Bad("-b {master} --to 7", 1, "the group has no member 7"),
        Bad("-b {master} --to second", 2, "'second': a whole number"),
    ],
}
