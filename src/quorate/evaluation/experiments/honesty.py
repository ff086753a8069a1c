"""How true it is what the default says of itself: on the 26 crowds by leaving out groups, and in every regime.

``make honesty``, or ``python -m quorate.evaluation.experiments.honesty [sets|regimes] [--seeds N] [--more FOLDER]``,
prints the tables of docs/confidence.md; ``--rebuild`` writes the table of calibrations that ships. With N known labels,
drawn at random (at most half of those with truth), every figure is over the tasks that are not known.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.evaluation.experiments.public_crowds import NAMES, folder_of_more, public_crowd
from quorate.evaluation.experiments.regimes import REGIMES
from quorate.evaluation.experiments.reliability import CROWDS, FEW, TOGETHER
from quorate.evaluation.score import LEAST_PROBABILITY
from quorate.evaluation.simulate import Crowd
from quorate.gold import named_gold
from quorate.methods.opinions import Opinions, opinions_of
from quorate.methods.registry import aggregate
from quorate.methods.views import weigh
from quorate.skills.evidence import gather
from quorate.uncertainty.centred_workforce import centred_workforce
from quorate.voting import population
from quorate.voting.dependence import flattening
from quorate.voting.known_labels import Views, learn
from quorate.voting.population import BETAS, VALIDITIES, calibrated, expected_calibration, identity, vote_of_crowd
from quorate.voting.posterior import FLOOR, hold_known, softmax
from quorate.voting.vote import leading_classes

KNOWN = (0, 5, 10, 30, 100)
RIVALS = ("majority", "one-coin", "dawid-skene")
BEFORE, OURS, ALONE = "default before", "default", "default, said independent"
METHODS = (*RIVALS, BEFORE, OURS, ALONE)
FIXED = 0.2  # the dependence that the default took every crowd to have before it was measured
TABLE_SEEDS = (100, 101, 102)  # of the simulated crowds of the table; the figures are drawn with others
REGIME_SEEDS = (0, 1)
BINS = 10  # of confidence, of even width
EXCEPTED = {regime.name for regime in REGIMES if regime.excepted} | {"three tasks in ten too hard"}
DRAWS: dict[str, Callable[[np.random.Generator], Crowd]] = {
    **{regime.name: regime.draw for regime in REGIMES},
    **CROWDS[FEW],
    "three tasks in ten too hard": CROWDS[TOGETHER]["three tasks in ten too hard"],
}


@dataclass(frozen=True)
class Figures:
    """Of one crowd: the share wrong (ties split), mean -log p(truth), calibration error, stated minus right."""

    error: float
    log_loss: float
    calibration_error: float
    gap: float


def judge(posterior: FloatArray, truth: IntArray, counted: BoolArray) -> Figures:
    """Compare a posterior with the truth (-1 unknown, -2 a class that nobody gave) over the counted tasks."""
    rows = np.flatnonzero((truth != -1) & counted)
    p, true = posterior[rows], truth[rows]
    leading = leading_classes(np.log(np.maximum(p, FLOOR)))
    own = np.arange(len(rows)), np.maximum(true, 0)
    right = np.where(true >= 0, leading[own] / leading.sum(axis=1), 0.0)
    believed = np.where(true >= 0, p[own], 0.0)
    sure = p.max(axis=1)
    gaps = np.bincount(np.minimum((sure * BINS).astype(np.int64), BINS - 1), sure - right)
    return Figures(
        float(1 - right.mean()),
        float(-np.log(np.maximum(believed, LEAST_PROBABILITY)).mean()),
        float(np.abs(gaps).sum() / len(rows)),
        float(sure.mean() - right.mean()),
    )


def mean(figures: Iterable[Figures]) -> Figures:
    """Average over crowds, all alike."""
    return Figures(*(float(value) for value in np.mean([astuple(each) for each in figures], axis=0)))


@dataclass(frozen=True)
class Case:
    """A crowd with truth, and what its answers say before known labels or other crowds are heard."""

    answers: Answers
    truth: IntArray
    opinions: Opinions
    views: Views  # not calibrated
    rho: float

    @property
    def vote(self) -> FloatArray:
        """What this crowd speaks for."""
        judged = self.truth != -1
        return vote_of_crowd(self.views.belief[judged], self.truth[judged])


def case_of(answers: Answers, truth: IntArray) -> Case:
    """Form the opinions of a crowd."""
    opinions = opinions_of(answers, centred_workforce(gather(answers)))
    views, basis = weigh(answers, opinions, group=None, independent=False, cautious=False)
    return Case(answers, truth, opinions, views, basis.rho)


def known_labels(truth: IntArray, n: int, seed: int) -> IntArray:
    """Draw the tasks whose label is known."""
    rows = np.flatnonzero(truth >= 0)
    chosen = np.random.default_rng([seed, n]).permutation(rows)[: min(n, int((truth != -1).sum()) // 2)]
    known = np.full(len(truth), -1)
    known[chosen] = truth[chosen]
    return known


def before(case: Case, known: IntArray) -> FloatArray:
    """Return the default's posterior before dependence was measured: two opinions, flattened alike, averaged.

    Known labels were a worker of skill one.
    """
    opinions = case.opinions
    if (known >= 0).any():
        opinions = opinions_of(case.answers, centred_workforce(gather(case.answers, known)), known)
    factor = flattening(case.answers.per_task, FIXED)[:, None]
    posterior: FloatArray = (softmax(opinions.scores[0] * factor) + softmax(opinions.scores[1] * factor)) / 2
    return posterior


def ours(views: Views, calibration: FloatArray, known: IntArray) -> FloatArray:
    """Return the default's posterior with another population of calibrations than the one that ships."""
    views = replace(views, calibration=calibration)
    if not (known >= 0).any():
        return calibrated(views.belief, calibration)
    learned = learn(views, known)
    return calibrated(learned.posterior, learned.calibration)


def measure(case: Case, parts: tuple[FloatArray, FloatArray], seeds: int) -> dict[tuple[str, int], Figures]:
    """Judge every method with every number of known labels; the mean over seeds."""
    calibration = expected_calibration(case.rho, parts)
    alone, _ = weigh(case.answers, case.opinions, group=None, independent=True, cautious=False)
    found: dict[tuple[str, int], list[Figures]] = {}
    for n in KNOWN:
        for seed in range(seeds if n else 1):
            known = known_labels(case.truth, n, seed)
            gold = named_gold(known, case.answers) if n else None
            posteriors = {
                name: aggregate(case.answers, name, gold=gold, intervals="none").ballot.posterior for name in RIVALS
            }
            posteriors[BEFORE] = before(case, known)
            posteriors[OURS] = ours(case.views, calibration, known)
            posteriors[ALONE] = ours(alone, identity(), known)
            for name, posterior in posteriors.items():
                held = hold_known(posterior, known)
                found.setdefault((name, n), []).append(judge(held, case.truth, known < 0))
    return {key: mean(each) for key, each in found.items()}


@cache
def set_case(name: str, more: Path) -> tuple[str, Case]:
    """Read a public crowd: the group that it is left out with, and its opinions."""
    crowd = public_crowd(name, more)
    return crowd.group, case_of(crowd.answers, crowd.truth)


@cache
def regime_case(name: str, seed: int) -> Case:
    """Draw a crowd of a regime."""
    crowd = DRAWS[name](np.random.default_rng([seed, len(name)]))
    return case_of(crowd.answers, crowd.truth)


@cache
def votes(more: Path) -> tuple[list[tuple[str, FloatArray]], list[tuple[str, FloatArray]]]:
    """Return what every public crowd and what every independent regime speaks for, with its group."""
    public = [(group, case.vote) for group, case in (set_case(name, more) for name in NAMES)]
    fair = [name for name in DRAWS if name not in EXCEPTED]
    means = [np.mean([regime_case(name, seed).vote for seed in TABLE_SEEDS], axis=0) for name in fair]
    return public, list(zip(fair, means, strict=True))


def tables(more: Path, without: str = "") -> tuple[FloatArray, FloatArray]:
    """Average what crowds speak for, without those of one group."""
    public, alone = (np.mean([v for group, v in each if group != without], axis=0) for each in votes(more))
    return public, alone


def rebuild(more: Path, to: Path) -> None:
    """Write the table that ships."""
    public, alone = tables(more)
    with to.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["beta", "validity", "public", "independent"])
        for i, beta in enumerate(BETAS):
            for j, v in enumerate(VALIDITIES):
                out.writerow([f"{beta:g}", f"{v:g}", f"{public[i, j]:.3e}", f"{alone[i, j]:.3e}"])


def show(title: str, rows: dict[str, dict[tuple[str, int], Figures]]) -> None:
    """Print the means over crowds, and each crowd."""
    print(f"\n## {title}: mean over {len(rows)} crowds\n")
    print("| method | known | error | log-loss | calibration error | stated - right |\n|---|---|---|---|---|---|")
    for name in METHODS:
        for n in KNOWN:
            f = mean(row[name, n] for row in rows.values())
            print(f"| {name} | {n} | {f.error:.4f} | {f.log_loss:.3f} | {f.calibration_error:.3f} | {f.gap:+.3f} |")
    shown = [("majority", 0), ("one-coin", 0), ("dawid-skene", 0), (BEFORE, 0), *((OURS, n) for n in KNOWN)]
    print(f"\n| crowd | {' | '.join(f'{name}, {n} known' for name, n in shown)} |\n|---|{'---|' * len(shown)}")
    for crowd, row in rows.items():
        cells = (row[key] for key in shown)
        told = (f"{f.error:.3f} {f.log_loss:.2f} {f.calibration_error:.3f} {f.gap:+.3f}" for f in cells)
        print(f"| {crowd} | {' | '.join(told)} |", flush=True)
    worse = {
        name: [crowd for crowd, row in rows.items() if row[name, 0].error > row["majority", 0].error + 0.02]
        for name in (BEFORE, OURS)
    }
    print(f"\nMore than two points worse than majority: {worse}")


def of_sets(more: Path, seeds: int) -> None:
    """Judge the public crowds, each by what the others teach."""
    rows = {}
    for name in NAMES:
        print(name, file=sys.stderr, flush=True)
        group, case = set_case(name, more)
        rows[name] = measure(case, tables(more, without=group), seeds)
    show("Public crowds, leaving out groups", rows)


def of_regimes(more: Path, seeds: int) -> None:
    """Judge the regimes of the simulator, each by what the others teach."""
    kinds: dict[str, dict[str, dict[tuple[str, int], Figures]]] = {}
    for name in DRAWS:
        print(name, file=sys.stderr, flush=True)
        parts = tables(more, without=name)
        each = [measure(regime_case(name, seed), parts, seeds) for seed in REGIME_SEEDS]
        kind = "that err together" if name in EXCEPTED else FEW if name in CROWDS[FEW] else "independent"
        kinds.setdefault(kind, {})[name] = {key: mean(one[key] for one in each) for key in each[0]}
    for kind, rows in kinds.items():
        show(f"Simulated crowds, {kind}", rows)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, or rebuild what ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("all", "sets", "regimes"), default="all")
    parser.add_argument("--seeds", type=int, default=3, help="draws of known labels")
    parser.add_argument("--more", help="folder of the nineteen crowds that no loader reads")
    parser.add_argument("--rebuild", action="store_true", help="write the table of calibrations, and print nothing")
    given = parser.parse_args(arguments)
    more = folder_of_more(given.more)
    if given.rebuild:
        rebuild(more, Path(population.__file__).with_name(population.TABLE))
        return
    runs = {"sets": partial(of_sets, more), "regimes": partial(of_regimes, more)}
    for name, run in runs.items():
        if given.what in ("all", name):
            run(given.seeds)


if __name__ == "__main__":
    main()
