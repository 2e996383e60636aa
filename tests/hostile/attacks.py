"""The attacks by name, each a `Manners` of many connections; run in a process of its own by `python -m`.

    python -m tests.hostile.attacks unread_pulls 127.0.0.1:10911 --count 300 --seconds 20 --source 127.0.0.9

Prints its tally as JSON at the end. Loopback addresses only.
"""

from __future__ import annotations

import argparse
import dataclasses
import ipaddress
import json
import resource
import struct
from string import ascii_letters

from tests.crash import requests as rq
from tests.crash.wire import encode_request
from tests.hostile.crowd import Crowd, Manners

TOPIC, WANTED_TOPIC, GROUP = "HostileTopic", "HostileEmpty", "HostileGroup"
MIB = 1 << 20
PULLS = 1000
SENDERS_GROUP = "HostileSenders"
REGISTER_BROKER = 103
STAMP = "@STAMP@@"


def pipelined_pulls(topic: str = TOPIC, count: int = PULLS, suspend_ms: int = 0) -> bytes:
    """`count` pulls of the same 32 messages, about 349 KB."""
    fields = rq.pull_fields(topic, GROUP, 0, 0, suspend_ms=suspend_ms)
    return b"".join(encode_request(rq.PULL, number + 1, fields) for number in range(count))


def unfinished(size: int = 16 * MIB - 64, sent: int = 0) -> bytes:
    """The beginning of a frame of `size` bytes: all but its last two, or the first `sent`."""
    header = encode_request(rq.SEND_V2, 1, rq.send_fields(TOPIC, 0, "k"))[4:]
    whole = struct.pack(">i", size) + header + bytes(size - len(header))
    return whole[: sent or -2]


def refused() -> bytes:
    """A whole frame that access control refuses, and any broker answers."""
    return encode_request(rq.GET_MAX_OFFSET, 1, rq.queue_fields(TOPIC, 0))


def header_bomb() -> bytes:
    """Headers as large as they may be, with as many fields as they may have, deep and wide."""
    wide = {f"field-{number}": "x" * 450 for number in range(256)}
    beyond = {f"f{number}": "x" for number in range(9000)}
    deep = b'{"code":11,"opaque":1,"extFields":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}"
    frames = [encode_request(rq.PULL, 1, wide), encode_request(rq.PULL, 2, beyond)]
    return b"".join([*frames, struct.pack(">iI", 4 + len(deep), len(deep)) + deep])


def sql_bomb(number: int = 0) -> bytes:
    """Pulls that bring filters as large as they may be, none of which matches anything."""
    terms = " OR ".join(f"(a{number}x{term} = 'x' AND b > {term})" for term in range(250))
    fields = rq.pull_fields(TOPIC, GROUP, 0, 0) | {"subscription": terms, "expressionType": "SQL92"}
    return b"".join(encode_request(rq.PULL, 1 + at, fields) for at in range(20))


def filtered_polls() -> bytes:
    """Long polls with large filters, none of which anybody has seen before (STAMP)."""
    tags = [f"{first}{second}" for first in ascii_letters for second in ascii_letters]
    by_tags = f"{STAMP}||{'||'.join(tags)}"
    by_sql = f"a = {STAMP} OR {' OR '.join(f'b > {number}' for number in range(120))}"
    frames = []
    for number in range(8):
        fields = rq.pull_fields(WANTED_TOPIC, GROUP, 0, 0, suspend_ms=30_000)
        fields["subscription"] = by_sql if number == 0 else f"{by_tags}||{number}"
        fields["expressionType"] = "TAG" if number else "SQL92"
        frames.append(encode_request(rq.PULL, 1 + number, fields))
    return b"".join(frames)


def registration(broker: int = 0, topics: int = 20_000) -> bytes:
    """A broker that nobody knows, with many topics of its own."""
    table = {
        f"Topic-{broker}-{number}": {
            "topicName": f"Topic-{broker}-{number}",
            "readQueueNums": 8,
            "writeQueueNums": 8,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": False,
        }
        for number in range(topics)
    }
    version = {"counter": 1, "timestamp": 1}
    wrapper = {"topicConfigTable": table, "dataVersion": version}
    body = json.dumps({"topicConfigSerializeWrapper": wrapper, "filterServerList": []}).encode()
    fields = {
        "brokerName": f"hostile-{broker}",
        "brokerAddr": f"127.0.0.1:{20_000 + broker % 40_000}",
        "clusterName": "Hostile",
        "haServerAddr": "127.0.0.1:1",
        "brokerId": "0",
        "compressed": "false",
        "bodyCrc32": "0",
    }
    return encode_request(REGISTER_BROKER, 1, fields, body)


def manners(name: str) -> Manners:
    match name:
        case "unfinished_frames":
            return Manners(payload=unfinished(), reopens=True)
        case "refused_then_unfinished":
            return Manners(first=refused(), payload=unfinished(), reopens=True)
        case "unread_pulls":
            return Manners(first=refused(), payload=pipelined_pulls(), repeats=10, gathers=True)
        case "pipelined_pulls":
            return Manners(payload=pipelined_pulls(), repeats=1000, reads=True, reopens=True)
        case "long_polls":
            waiting = pipelined_pulls(WANTED_TOPIC, suspend_ms=30_000)
            return Manners(first=refused(), payload=waiting, repeats=10, gathers=True)
        case "filtered_polls":
            payload, stamp = filtered_polls(), STAMP.encode()
            return Manners(first=refused(), payload=payload, stamp=stamp, repeats=1000, gathers=True)
        case "slow_loris":
            return Manners(first=refused(), payload=unfinished(), trickle_bytes=1, reopens=True)
        case "header_bombs":
            return Manners(payload=header_bomb(), repeats=1000, reads=True, reopens=True)
        case "sql_bombs":
            return Manners(payload=sql_bomb(), repeats=1000, reads=True, reopens=True)
        case "registrations":
            return Manners(payload=registration(), repeats=1000, reads=True, reopens=True)
    raise SystemExit(f"no attack {name!r}")


def raise_descriptor_limit(wanted: int) -> None:
    """A login shell's 1,024 are not enough for a crowd."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        raise SystemExit(f"{wanted} descriptors are needed, and {hard} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("address")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--source", nargs="+", default=["127.0.0.9"])
    chosen = parser.parse_args()
    host, port = chosen.address.rsplit(":", 1)
    for address in (host, *chosen.source):
        if not ipaddress.ip_address(address).is_loopback:
            raise SystemExit(f"{address} is no loopback address: attacks stay on this machine")
    raise_descriptor_limit(chosen.count + 100)
    crowd = Crowd((host, int(port)), chosen.source, chosen.count, manners(chosen.name))
    try:
        tally = crowd.run(chosen.seconds)
    finally:
        crowd.close()
    print(json.dumps(dataclasses.asdict(tally)), flush=True)


if __name__ == "__main__":
    main()
