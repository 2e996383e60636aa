"""What becomes of alerts: pending, firing, resolved; blindness is not content; silence tells nobody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from clusters.actions.alert_judging import Judgement, judge, silenced_keys
from clusters.models import Alert, AlertSilence
from clusters.selectors.alert_figures import Figure, Observation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = (1, "group", "billing")


def figure(value: float = 9.0) -> Figure:
    return Figure(*KEY, value, f"billing: {value:g} behind")


def look(
    opened: list[Alert], seconds: float, *held: Figure, blind: bool = False, silent: bool = False
) -> Judgement:
    seen = Observation(held, {1: "the figures are old"} if blind else {})
    return judge(7, 60, seen, opened, {KEY: silent}, NOW + timedelta(seconds=seconds))


def pending() -> Alert:
    [alert] = look([], 0, figure()).new
    alert.pk = 1
    return alert


def firing() -> Alert:
    alert = pending()
    look([alert], 60, figure())
    return alert


def test_it_fires_only_after_it_has_held_for_its_time() -> None:
    alert = pending()
    assert alert.state == "pending"
    assert look([alert], 59, figure()).told == []
    found = look([alert], 60, figure(11))
    assert (alert.state, alert.value, found.told) == ("firing", 11, [(alert, "firing")])
    assert look([alert], 70, figure(11)).told == []


def test_a_rule_without_a_time_fires_at_once() -> None:
    found = judge(7, 0, Observation((figure(),)), [], {}, NOW)
    [alert] = found.new
    assert (alert.state, found.told) == ("firing", [(alert, "firing")])


def test_what_never_fired_is_forgotten_and_what_fired_is_resolved() -> None:
    alert = pending()
    assert look([alert], 10).forgotten == [alert]
    alert = firing()
    found = look([alert], 70)
    assert (alert.state, found.told) == ("resolved", [(alert, "resolved")])
    assert alert.resolved_at == NOW + timedelta(seconds=70)


def test_blindness_neither_resolves_nor_is_content() -> None:
    alert = firing()
    found = look([alert], 70, blind=True)
    assert alert.state == "firing"
    [unseen] = found.new
    assert (unseen.state, unseen.subject, unseen.value) == ("no_data", "cluster", None)
    assert "the figures are old" in unseen.summary
    unseen.pk = 2
    assert look([alert, unseen], 130, blind=True).told == [(unseen, "firing")]
    assert unseen.state == "no_data"
    assert look([alert, unseen], 140, figure()).told == [(unseen, "resolved")]
    assert alert.state == "firing"


def test_a_silenced_one_fires_and_nobody_is_told_until_the_silence_ends() -> None:
    alert = pending()
    assert look([alert], 60, figure(), silent=True).told == []
    assert (alert.state, alert.is_silenced) == ("firing", True)
    assert look([alert], 70, figure()).told == [(alert, "firing")]
    alert = pending()
    look([alert], 60, figure(), silent=True)
    assert look([alert], 70, silent=True).told == []
    assert alert.state == "resolved"


def test_a_silence_over_one_that_fires_is_seen_and_its_end_is_told() -> None:
    alert = firing()
    found = look([alert], 70, figure(), silent=True)
    assert (alert.is_silenced, found.changed, found.told) == (True, [alert], [])
    assert look([alert], 80, figure()).told == [(alert, "firing")]
    assert not alert.is_silenced


def test_what_a_silence_matches() -> None:
    def silence(
        clusters: str = "*", names: str = "*", rule: int | None = None, start: int = -10
    ) -> AlertSilence:
        starts = NOW + timedelta(seconds=start)
        return AlertSilence(
            cluster_pattern=clusters,
            name_pattern=names,
            rule_id=rule,
            starts_at=starts,
            ends_at=starts + timedelta(seconds=20),
        )

    def is_silenced(one: AlertSilence) -> bool:
        return silenced_keys([(KEY, "orders")], 7, [one], NOW)[KEY]

    assert is_silenced(silence())
    assert is_silenced(silence("ord*", "bill*", 7))
    assert not is_silenced(silence("shop"))
    assert not is_silenced(silence(names="audit"))
    assert not is_silenced(silence(rule=8))
    assert not is_silenced(silence(start=5))
    assert not is_silenced(silence(start=-20))
