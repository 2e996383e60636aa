"""What is to be done with a dead letter in a redrive: sent, or not and why. Decided before anything is noted.

Rights and masks are those of whoever asked for the redrive: what they may not do, or may not see, a job does
not do for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clusters.actions.dead_letters import last_outcomes
from clusters.actions.sends import again, origin_id_of
from clusters.gateway.sends import Outgoing
from clusters.gateway.stored import StoredMessage
from clusters.models import Redrive, RedriveOutcome
from clusters.selectors.masking import Masks
from console.core.models.people import Role
from console.core.problems import Problem
from console.core.standing import Standing
from engine.protocol.names import dlq_topic, retry_topic

Outcome = RedriveOutcome.State


@dataclass(frozen=True, slots=True)
class LetterPlan:
    """One dead letter, and what is to be done with it: sent, or not and why."""

    offset_id: str
    msg_id: str
    outgoing: Outgoing | None
    state: str
    detail: str = ""


class Decider:
    """What is to be done with a dead letter: pure, but for what earlier redrives did."""

    def __init__(self, redrive: Redrive, standing: Standing, masks: Masks) -> None:
        self._redrive = redrive
        self._standing = standing
        self._masks = masks

    def judge(self, offset_id: str, found: StoredMessage | str) -> LetterPlan:
        if isinstance(found, str):
            return LetterPlan(offset_id, "", None, Outcome.REFUSED, found)
        redrive, cluster = self._redrive, self._redrive.cluster.name
        if found.topic != dlq_topic(redrive.group):
            return _refused(found, f"it is no dead letter of {redrive.group}")
        topic = redrive.topic if redrive.target == Redrive.Target.TOPIC else found.origin_topic
        is_to_group = redrive.target == Redrive.Target.GROUP
        if not self._standing.may(Role.OPERATOR, cluster, redrive.group if is_to_group else topic):
            return _refused(found, f"{redrive.created_by} may not send to {topic}")
        if topic == found.topic:
            return _refused(found, "it does not say which topic it came from")
        if topic not in found.topics and self._masks.of(*found.topics):
            return _refused(
                found, f"a masking rule keeps it from {redrive.created_by}: it stays in its topic"
            )
        try:
            message = again(found, topic)
        except Problem as problem:
            return _refused(found, problem.detail)
        if is_to_group:
            message = replace(message, to_group=redrive.group, origin_id=origin_id_of(found))
        return LetterPlan(found.offset_id, found.msg_id, message, Outcome.INTENT)

    def without_redriven(self, letters: list[LetterPlan]) -> list[LetterPlan]:
        """Nothing is sent twice, be it by another redrive."""
        if not self._redrive.skips_redriven:
            return letters
        before = last_outcomes(self._redrive.cluster_id, [letter.offset_id for letter in letters])
        sent = {offset_id for offset_id, state in before.items() if state != Outcome.REFUSED}
        return [
            replace(
                letter,
                outgoing=None,
                state=Outcome.SKIPPED,
                detail=f"it was redriven: {before[letter.offset_id]}",
            )
            if letter.outgoing is not None and letter.offset_id in sent
            else letter
            for letter in letters
        ]


def _refused(found: StoredMessage, why: str) -> LetterPlan:
    return LetterPlan(found.offset_id, found.msg_id, None, Outcome.REFUSED, why)


def place_of(message: Outgoing) -> str:
    return retry_topic(message.to_group) if message.to_group is not None else message.topic
