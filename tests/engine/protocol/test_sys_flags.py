from __future__ import annotations

import pytest

from engine.protocol import sys_flags


def test_the_transaction_type_is_replaced_not_added() -> None:
    assert sys_flags.with_transaction_type(0x307, sys_flags.TRANSACTION_COMMIT) == 0x30B


@pytest.mark.parametrize(
    ("sys_flag", "expected"),
    [
        (0x1, sys_flags.ZLIB),
        (0x101, sys_flags.LZ4),
        (0x201, sys_flags.ZSTD),
        (0x301, sys_flags.ZLIB),
        (0x701, 7),
    ],
)
def test_the_compression_type_of_old_clients_is_zlib(sys_flag: int, expected: int) -> None:
    assert sys_flags.compression_type(sys_flag) == expected


def test_setting_the_compression_replaces_the_type_and_says_compressed() -> None:
    assert sys_flags.with_compression(0x708, sys_flags.ZSTD) == 0x209
