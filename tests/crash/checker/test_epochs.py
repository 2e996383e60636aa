from __future__ import annotations

from dataclasses import replace

from tests.crash.checker.check import check_history
from tests.crash.checker.epochs import check_epochs
from tests.crash.checker.events import CROWN, Event
from tests.crash.checker.stories import good_story, sent


def crowned(node: str, epoch: int) -> Event:
    return Event(CROWN, node=node, epoch=epoch)


def acked(seq: int, node: str, epoch: int, t: float) -> Event:
    return replace(sent("a", seq, seq, t=t), node=node, epoch=epoch)


def test_one_master_after_the_other_is_fine() -> None:
    story = [crowned("a", 1), acked(0, "a", 1, 1), crowned("b", 3), acked(1, "b", 3, 5), crowned("a", 4)]
    assert check_epochs(story) == []
    assert check_history(good_story()) == []


def test_an_answer_that_lay_in_a_socket_is_no_stale_one() -> None:
    assert check_epochs([acked(0, "a", 1, 5.2), acked(1, "b", 2, 5)]) == []


def test_an_epoch_that_does_not_rise_is_caught() -> None:
    assert len(check_epochs([crowned("a", 2), crowned("b", 2)])) == 1
    assert len(check_epochs([crowned("a", 2), crowned("b", 3), crowned("a", 2)])) == 1


def test_two_nodes_that_acknowledge_in_one_epoch_are_caught() -> None:
    (violation,) = check_epochs([acked(0, "a", 1, 1), acked(1, "b", 1, 1)])
    assert "both acknowledged" in violation.text


def test_an_acknowledgement_of_the_old_master_after_the_new_one_is_caught() -> None:
    (violation,) = check_epochs([acked(0, "a", 1, 1), acked(1, "b", 2, 3), acked(2, "a", 1, 9)])
    assert violation.evidence[0].value == ("a", 2)


def test_one_offset_with_two_bodies_on_two_members_is_caught() -> None:
    story = [acked(0, "a", 1, 1), replace(sent("b", 7, 0, t=9), node="b", epoch=2)]
    assert "inconsistent-offset" in {violation.checker for violation in check_history(story)}
