"""Running scores and the time that is left."""

from __future__ import annotations

import pytest

from mince_gui.run.tally import Earlier, Tally


def test_running_scores_are_ratios_over_all_sittings() -> None:
    tally = Tally(10, Earlier(done=2, missing=1, capped=1, sums={"inst": (2.0, 5.0)}))
    tally.add_done({"inst": (3.0, 3.0), "acc": (0.0, 1.0)}, capped=True, seconds=1.0)
    assert tally.running() == {"inst": pytest.approx(62.5), "acc": 0.0}
    assert (tally.done, tally.missing, tally.capped) == (3, 1, 2)


def test_a_metric_without_trials_has_no_running_score() -> None:
    tally = Tally(2, Earlier())
    tally.add_done({"inst": (0.0, 0.0)}, capped=False, seconds=1.0)
    assert tally.running() == {}


def test_time_left_is_unknown_before_the_first_item_and_counts_what_is_left() -> None:
    tally = Tally(10, Earlier(done=4))
    assert tally.seconds_left() is None
    for _ in range(3):
        tally.add_done({}, capped=False, seconds=2.0)
    tally.add_missing()
    assert tally.seconds_left() == pytest.approx(4.0)


def test_one_stall_does_not_count_in_full() -> None:
    tally = Tally(12, Earlier())
    for seconds in (1.0, 1.0, 1.0, 1.0, 600.0):
        tally.add_done({}, capped=False, seconds=seconds)
    assert tally.seconds_left() == pytest.approx((4 * 1.0 + 4.0) / 5 * 7)
