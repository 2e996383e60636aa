"""A worker's process that is killed in the middle of a redrive: `python -m tests.clusters.redrive_worker`.

ID before|after N     run the redrive; in its Nth batch die right before the send, or right after it
"""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
sys.path.insert(0, os.path.join(os.getcwd(), "platform"))


def main(redrive_id: str, moment: str, batch: int) -> None:
    import django

    django.setup()
    from django.utils import timezone

    from clusters.actions import redrive_runs

    real, batches = redrive_runs.send_many, 0

    def killed(*arguments: Any) -> Any:
        nonlocal batches
        batches += 1
        if batches == batch and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        sent = real(*arguments)
        if batches == batch:
            os.kill(os.getpid(), signal.SIGKILL)
        return sent

    redrive_runs.send_many = killed
    redrive_runs.do_run_redrive(uuid.UUID(redrive_id), worker="doomed", clock=timezone.now, sleep=time.sleep)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
