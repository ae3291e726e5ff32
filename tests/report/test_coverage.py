"""How often intervals hold what they promise: by exact enumeration where that is possible, else by simulation."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, hypergeom

from mince_gui.report.bootstrap import bootstrap_interval
from mince_gui.report.intervals import (
    approximate_ratio_interval,
    approximate_total_interval,
    binomial_interval,
    finite_population_interval,
)
from mince_gui.report.paired_intervals import counts_interval

Floats = npt.NDArray[np.float64]
IFEVAL = 541
KINDS = ("by ability", "all or none", "longer is harder")


def exact_coverage(n: int, total: int, step: int = 1) -> tuple[float, int]:
    """The smallest coverage over the populations C = 0, step, 2 step, ..., and where it is."""
    ends = np.array([finite_population_interval(x, n, total) for x in range(n + 1)])
    low, high = np.rint(ends * total / 100).astype(int).T
    seen = np.arange(n + 1)
    least, where = 1.0, -1
    for right in range(0, total + 1, step):
        held = (low <= right) & (right <= high)
        covered = float(hypergeom.pmf(seen[held], total, right, n).sum())
        if covered < least:
            least, where = covered, right
    return least, where


@pytest.mark.parametrize(("n", "total"), [(1, 9), (17, 40), (39, 40), (25, 300), (250, 541), (500, 541), (400, 1319)])
def test_the_pass_fail_interval_holds_95_times_in_100_for_every_number_right(n: int, total: int) -> None:
    least, where = exact_coverage(n, total)
    assert least >= 0.95 - 1e-9, where


@pytest.mark.long
@pytest.mark.parametrize("n", [500, 1500, 13_000])
def test_the_pass_fail_interval_holds_over_all_of_mmlu(n: int) -> None:
    least, where = exact_coverage(n, 14_042)
    assert least >= 0.95 - 1e-9, where


@pytest.mark.parametrize("n", [10, 37, 120])
def test_the_binomial_interval_holds_95_times_in_100(n: int) -> None:
    ends = np.array([binomial_interval(x, n) for x in range(n + 1)]) / 100
    for chance in np.linspace(0.001, 0.999, 400):
        held = (ends[:, 0] <= chance) & (chance <= ends[:, 1])
        assert binom.pmf(np.arange(n + 1)[held], n, chance).sum() >= 0.95 - 1e-9


def population(score: float, kind: str, seed: int) -> tuple[Floats, Floats]:
    """Passed and trials of 541 prompts with 1 to 3 instructions, whose outcomes hang together as `kind` says."""
    rng = np.random.default_rng(seed)
    trials = rng.choice([1, 2, 3], size=IFEVAL, p=[0.6, 0.26, 0.14])
    if kind == "by ability":
        passed = rng.binomial(trials, rng.beta(2 * score, 2 * (1 - score), size=IFEVAL))
    elif kind == "all or none":
        passed = np.where(rng.random(IFEVAL) < score, trials, 0)
    else:
        passed = rng.binomial(trials, np.clip(score * np.array([1.1, 0.92, 0.75])[trials - 1], 0, 1))
    return passed.astype(float), trials.astype(float)


def ratio_coverage(score: float, kind: str, n: int, rounds: int, seed: int = 4) -> float:
    passed, trials = population(score, kind, seed)
    truth = 100 * passed.sum() / trials.sum()
    assert 10 <= truth <= 90
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(rounds):
        chosen = rng.permutation(IFEVAL)[:n]
        low, high = approximate_ratio_interval(passed[chosen].tolist(), trials[chosen].tolist(), IFEVAL)
        hits += low <= truth <= high
    return hits / rounds


def noise(rounds: int) -> float:
    return 3 * math.sqrt(0.05 * 0.95 / rounds)


@pytest.mark.parametrize("n", [50, 100, 250, 500])
@pytest.mark.parametrize("kind", KINDS)
def test_the_ratio_interval_holds_93_to_97_times_in_100(kind: str, n: int) -> None:
    rounds = 500
    found = [ratio_coverage(score, kind, n, rounds) for score in (0.14, 0.5, 0.86)]
    assert all(0.93 - noise(rounds) <= covered <= 0.97 + noise(rounds) for covered in found), found
    assert 0.935 <= float(np.mean(found)) <= 0.972, found


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 100, 250, 500])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("score", [0.15, 0.25, 0.5, 0.75, 0.85])
def test_the_ratio_interval_holds_in_many_populations(score: float, kind: str, n: int) -> None:
    found = [ratio_coverage(score, kind, n, 2500, seed) for seed in range(3)]
    assert all(0.93 - noise(2500) <= covered <= 0.97 + noise(2500) for covered in found), found


def paired_coverage(n: int, total: int, gained: int, lost: int, ends: dict[tuple[int, int], tuple[int, int]]) -> float:
    """Exactly: over all (gained, lost) counts that a subset can have; `ends` keeps intervals, in items."""
    covered = 0.0
    for up in range(min(n, gained) + 1):
        downs = np.arange(min(n - up, lost) + 1)
        chance = hypergeom.pmf(up, total, gained, n)
        if chance < 1e-12:
            continue
        # scipy knows no draw from nothing.
        given = hypergeom.pmf(downs, total - gained, lost, n - up) if gained < total else np.ones(1)
        for down in downs[given > 1e-12].tolist():
            if (up, down) not in ends:
                low, high = counts_interval(up, down, n, total)
                ends[up, down] = round(low * total / 100), round(high * total / 100)
            low_end, high_end = ends[up, down]
            if low_end <= gained - lost <= high_end:
                covered += float(chance * given[down])
    return covered


@pytest.mark.parametrize(("n", "total"), [(3, 12), (6, 12), (11, 12), (9, 20)])
def test_the_paired_interval_holds_for_every_table_of_a_small_benchmark(n: int, total: int) -> None:
    ends: dict[tuple[int, int], tuple[int, int]] = {}
    for gained in range(total + 1):
        for lost in range(total - gained + 1):
            assert paired_coverage(n, total, gained, lost, ends) >= 0.95, (gained, lost)


@pytest.mark.parametrize(("n", "total"), [(50, 541), (250, 541), (500, 541), (1500, 14_042)])
def test_the_paired_interval_holds_on_the_benchmarks(n: int, total: int) -> None:
    ends: dict[tuple[int, int], tuple[int, int]] = {}
    for gained, lost in [(0, 0), (0, 1), (1, 1), (2, 2), (0, 5), (5, 1), (12, 2), (8, 40), (20, 20), (0, 60), (60, 45)]:
        assert paired_coverage(n, total, gained, lost, ends) >= 0.95, (gained, lost)


@pytest.mark.long
@pytest.mark.parametrize(("n", "total"), [(25, 541), (100, 541), (400, 541), (530, 541), (400, 1319), (1200, 1319)])
def test_the_paired_interval_holds_for_many_tables(n: int, total: int) -> None:
    ends: dict[tuple[int, int], tuple[int, int]] = {}
    counts = (0, 1, 2, 3, 4, 5, 6, 8, 12, 20, 40, 80, 200)
    for gained, lost in product(counts, counts):
        assert paired_coverage(n, total, gained, lost, ends) >= 0.95, (gained, lost)


def paired_population(share: float, up: float, seed: int, *, whole: bool) -> tuple[Floats, Floats, Floats]:
    """Passed here, passed there, trials: `share` of the prompts changed, `up` of them for the better."""
    theirs, trials = population(0.7, "by ability", seed)
    rng = np.random.default_rng(seed + 100)
    changed, better = rng.random(IFEVAL) < share, rng.random(IFEVAL) < up
    step = trials if whole else np.ones(IFEVAL)
    moved = np.clip(np.where(better, theirs + step, theirs - step), 0, trials)
    return np.where(changed, moved, theirs), theirs, trials


def bootstrap_coverage(n: int, share: float, up: float, rounds: int, seeds: int) -> float:
    hits = 0
    for seed in range(seeds):
        mine, theirs, trials = paired_population(share, up, seed, whole=seed % 2 == 1)
        truth = 100 * (mine.sum() - theirs.sum()) / trials.sum()
        rng = np.random.default_rng(seed + 9)
        for _ in range(rounds):
            chosen = rng.permutation(IFEVAL)[:n]
            here = list(zip(mine[chosen].tolist(), trials[chosen].tolist(), strict=True))
            there = list(zip(theirs[chosen].tolist(), trials[chosen].tolist(), strict=True))
            low, high = bootstrap_interval(here, there, IFEVAL)
            hits += low - 1e-9 <= truth <= high + 1e-9
    return hits / (rounds * seeds)


@pytest.mark.parametrize(("n", "share"), [(50, 0.05), (100, 0.3), (250, 0.02), (500, 0.1)])
def test_the_bootstrap_interval_holds_at_least_93_times_in_100(n: int, share: float) -> None:
    rounds, seeds = 40, 4
    covered = bootstrap_coverage(n, share, 0.4, rounds, seeds)
    assert covered >= 0.93 - noise(rounds * seeds), covered


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 100, 250, 500])
@pytest.mark.parametrize("share", [0.005, 0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("up", [0.2, 0.5])
def test_the_bootstrap_interval_holds_in_many_populations(n: int, share: float, up: float) -> None:
    covered = bootstrap_coverage(n, share, up, 100, 6)
    assert covered >= 0.93 - noise(600), covered


@pytest.mark.parametrize(("spread", "least"), [(0.3, 0.93), (0.6, 0.93), (0.9, 0.91)])
@pytest.mark.parametrize(("n", "total"), [(100, 541), (250, 541), (400, 1319)])
def test_the_interval_of_a_whole_wall_clock_holds_on_log_normal_times(
    n: int, total: int, spread: float, least: float
) -> None:
    times = np.random.default_rng(5).lognormal(2.4, spread, size=total)
    rng = np.random.default_rng(6)
    rounds, hits = 700, 0
    for _ in range(rounds):
        low, high = approximate_total_interval(times[rng.permutation(total)[:n]].tolist(), total)
        hits += low <= times.sum() <= high
    assert least - noise(rounds) <= hits / rounds <= 0.97 + noise(rounds)
