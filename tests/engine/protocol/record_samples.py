"""Records whose bytes were written by hand from the format's description, and strategies that make others."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engine.protocol.records import Record

GOLDEN_V1 = bytes.fromhex(
    "0000007c"  # total size 124 = 91 + 5 + 6 + 22
    "daa320a7"  # magic v1
    "3610a686"  # CRC32("hello")
    "00000003"  # queue id
    "00000007"  # flag
    "0000000000000009"  # queue offset
    "0000000000001000"  # physical offset
    "00000000"  # sys flag
    "0000018bcfe56800"  # born 1700000000000
    "0a000001 0000d431"  # born host 10.0.0.1:54321
    "0000018bcfe56805"  # stored 5 ms later
    "7f000001 00002a9f"  # store host 127.0.0.1:10911
    "00000002"  # reconsume times
    "0000000000000000"  # prepared transaction offset
    "00000005 68656c6c6f"  # body "hello"
    "06 546f70696341"  # topic "TopicA"
    "0016 54414753 01 54616741 02 4b455953 01 6b31206b32 02 58"  # see GOLDEN_PROPERTIES
)
GOLDEN_PROPERTIES = {"TAGS": "TagA", "KEYS": "k1 k2"}
"""The text ends in a stray `X` without separator, which every reader passes over."""

GOLDEN_V1_RECORD = Record(
    size=124,
    magic=-626843481,
    body_crc=0x3610A686,
    queue_id=3,
    flag=7,
    queue_offset=9,
    commit_log_offset=4096,
    sys_flag=0,
    born_timestamp=1700000000000,
    born_host=("10.0.0.1", 54321),
    store_timestamp=1700000000005,
    store_host=("127.0.0.1", 10911),
    reconsume_times=2,
    prepared_transaction_offset=0,
    body=b"hello",
    topic="TopicA",
    properties=GOLDEN_PROPERTIES,
)

GOLDEN_V2_V6 = bytes.fromhex(
    "000000fd"  # total size 253 = 91 + 2 x 12 for the hosts + 1 for the topic length + 128 + 9
    "daa320ab"  # magic v2
    "00000000"  # no body, no CRC
    "00000000 ffffffff"  # queue id 0, flag -1
    "0000000000000000 0000000000000000"  # queue offset, physical offset
    "00000030"  # both hosts IPv6
    "0000000000000001"  # born
    "20010db8000000000000000000000001 0000ffff"  # [2001:db8::1]:65535
    "0000000000000002"  # stored
    "00000000000000000000000000000001 00000001"  # [::1]:1
    "00000000 0000000000000000"  # reconsume times, prepared transaction offset
    "00000000"  # body length 0
    "0080" + "74" * 128 + "0009 44454c4159 01 3138 02"  # topic of 128 t, DELAY = 18
)

topics = st.text(alphabet="abcXYZ%_-|09", min_size=1, max_size=140)
_words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=12
)
properties = st.dictionaries(st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "DELAY", "WAIT"]) | _words, _words)
hosts = st.tuples(
    st.ip_addresses().filter(lambda ip: ip.version == 4 or not ip.ipv4_mapped).map(str), st.integers(0, 65535)
)
_int32 = st.integers(-(2**31), 2**31 - 1)
_int64 = st.integers(-(2**63), 2**63 - 1)

record_values: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "topic": topics,
        "body": st.binary(max_size=200),
        "properties": properties,
        "queue_id": _int32,
        "flag": _int32,
        "queue_offset": _int64,
        "commit_log_offset": _int64,
        "sys_flag": st.integers(0, 2**31 - 1).map(lambda flag: flag & ~0x30),
        "born_timestamp": _int64,
        "born_host": hosts,
        "store_timestamp": _int64,
        "store_host": hosts,
        "reconsume_times": _int32,
        "prepared_transaction_offset": _int64,
    }
)
