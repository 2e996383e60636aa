"""Runs attacks on a fresh broker each and prints what they cost, for docs/limits.md.

python -m tests.hostile.figures unread_pulls:300 refused_then_unfinished:100 --seconds 10
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.hostile.victim import OTHER, OWN, Victim, attack

LATER_S = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("attacks", nargs="+", help="name:connections")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--own", action="store_true", help="from the good client's own address")
    chosen = parser.parse_args()
    source = OWN if chosen.own else OTHER
    for item in chosen.attacks:
        name, _, count = item.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            victim = Victim.broker(Path(folder))
            try:
                victim.start()
                outcome = attack(victim, name, count=int(count or 100), seconds=chosen.seconds, source=source)
                time.sleep(max(0.0, LATER_S - outcome.given_back_s))
                kept = victim.daemon.sample().anonymous_bytes - outcome.idle_bytes
            finally:
                victim.daemon.kill()
        report = outcome.report
        print(
            f"{name} × {count} from {source}: {outcome.above_idle_bytes >> 20} MB above idle, slowest of "
            f"{report.requests} requests {report.slowest_s:.2f} s ({report.busy} busy), memory back after "
            f"{outcome.given_back_s:.1f} s, {kept >> 20} MB kept after {LATER_S:g} s; at most "
            f"{report.most_connections:.0f} connections open, {outcome.tally['closed_by_server']} closed, "
            f"{report.most_long_polls:.0f} long polls; {'; '.join(report.failures) or 'no failures'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
