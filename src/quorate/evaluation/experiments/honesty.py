"""How true it is what the default says of itself: on the 26 crowds by leaving out groups, and in every regime.

``make honesty``, or ``python -m quorate.evaluation.experiments.honesty [sets|regimes] [--seeds N] [--more FOLDER]``,
prints the tables of docs/confidence.md; ``--rebuild`` writes the table of calibrations that ships. With N known labels,
drawn at random (at most half of those with truth), every figure is over the tasks that are not known. With ``--keep
FOLDER`` the figures of each crowd are kept there as they come, and one that is there is not measured again: a run can
be taken up, or shared between processes (``--part 1/3``; the last without ``--part`` prints).
"""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.evaluation.experiments.honest_figures import (
    ALONE,
    BEFORE,
    KNOWN,
    OURS,
    RIVALS,
    Figures,
    Measured,
    judge,
    mean,
    show,
)
from quorate.evaluation.experiments.public_crowds import NAMES, folder_of_more, public_crowd
from quorate.evaluation.experiments.regimes import REGIMES
from quorate.evaluation.experiments.reliability import CROWDS, FEW, TOGETHER
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
from quorate.voting.posterior import hold_known, softmax

FIXED = 0.2  # the dependence that the default took every crowd to have before it was measured
TABLE_SEEDS = (100, 101, 102)  # of the simulated crowds of the table; the figures are drawn with others
REGIME_SEEDS = (0, 1)
EXCEPTED = {regime.name for regime in REGIMES if regime.excepted} | {"three tasks in ten too hard"}
DRAWS: dict[str, Callable[[np.random.Generator], Crowd]] = {
    **{regime.name: regime.draw for regime in REGIMES},
    **CROWDS[FEW],
    "three tasks in ten too hard": CROWDS[TOGETHER]["three tasks in ten too hard"],
}


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


def measure(case: Case, parts: tuple[FloatArray, FloatArray], seeds: int, *, said: bool = True) -> Measured:
    """Judge every method with every number of known labels; the mean over seeds, of the rivals over the first.

    Args:
        case: a crowd.
        parts: what other crowds teach.
        seeds: draws of known labels.
        said: whether to judge the default, too, as if workers were said to be independent.
    """
    calibration = expected_calibration(case.rho, parts)
    alone = weigh(case.answers, case.opinions, group=None, independent=True, cautious=False)[0] if said else None
    found: dict[tuple[str, int], list[Figures]] = {}
    for n in KNOWN:
        for seed in range(seeds if n else 1):
            known = known_labels(case.truth, n, seed)
            posteriors = {OURS: ours(case.views, calibration, known)}
            if alone is not None:
                posteriors[ALONE] = ours(alone, identity(), known)
            if seed == 0:
                posteriors |= rivals(case, known)
            for name, posterior in posteriors.items():
                held = hold_known(posterior, known)
                found.setdefault((name, n), []).append(judge(held, case.truth, known < 0))
    return {key: mean(each) for key, each in found.items()}


def rivals(case: Case, known: IntArray) -> dict[str, FloatArray]:
    """Return the posteriors of the other methods, and of the default before."""
    gold = named_gold(known, case.answers) if (known >= 0).any() else None
    others = {name: aggregate(case.answers, name, gold=gold, intervals="none").ballot.posterior for name in RIVALS}
    return {**others, BEFORE: before(case, known)}


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


@dataclass(frozen=True)
class Run:
    """Where the crowds are, how many draws of known labels, and which part of the work to do."""

    more: Path
    seeds: int
    keep: Path | None = None
    part: tuple[int, int] = (1, 1)

    def mine(self, names: Sequence[str]) -> list[str]:
        """Deal the crowds out to the parts."""
        return list(names)[self.part[0] - 1 :: self.part[1]]

    def measured(self, name: str, work: Callable[[], Measured]) -> Measured:
        """Measure a crowd, unless its figures are kept."""
        print(name, file=sys.stderr, flush=True)
        if self.keep is None:
            return work()
        file = self.keep / f"{name.replace(' ', '-').replace(',', '').replace('%', '')}-{self.seeds}.json"
        if not file.exists():
            rows = [[*key, *astuple(figures)] for key, figures in work().items()]
            self.keep.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(rows), encoding="utf-8")
        return {(row[0], row[1]): Figures(*row[2:]) for row in json.loads(file.read_text(encoding="utf-8"))}


def of_sets(run: Run) -> None:
    """Judge the public crowds, each by what the others teach."""

    def one(name: str) -> Measured:
        group, case = set_case(name, run.more)
        return measure(case, tables(run.more, without=group), run.seeds, said=False)

    rows = {name: run.measured(name, partial(one, name)) for name in run.mine(NAMES)}
    if run.part == (1, 1):
        show("Public crowds, leaving out groups", rows)


def of_regimes(run: Run) -> None:
    """Judge the regimes of the simulator, each by what the others teach."""

    def one(name: str) -> Measured:
        parts = tables(run.more, without=name)
        each = [measure(regime_case(name, seed), parts, seeds=1) for seed in REGIME_SEEDS]  # a crowd a draw
        return {key: mean(figures[key] for figures in each) for key in each[0]}

    kinds: dict[str, dict[str, Measured]] = {}
    for name in run.mine(list(DRAWS)):
        kind = "that err together" if name in EXCEPTED else FEW if name in CROWDS[FEW] else "independent"
        kinds.setdefault(kind, {})[name] = run.measured(name, partial(one, name))
    for kind, rows in kinds.items():
        if run.part == (1, 1):
            show(f"Simulated crowds, {kind}", rows)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, or rebuild what ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("all", "sets", "regimes"), default="all")
    parser.add_argument("--seeds", type=int, default=2, help="draws of known labels in each public crowd")
    parser.add_argument("--more", help="folder of the nineteen crowds that no loader reads")
    parser.add_argument("--keep", help="folder for the figures of each crowd")
    parser.add_argument("--part", default="1/1", help="which part of the crowds, of how many")
    parser.add_argument("--rebuild", action="store_true", help="write the table of calibrations, and print nothing")
    given = parser.parse_args(arguments)
    more = folder_of_more(given.more)
    if given.rebuild:
        rebuild(more, Path(population.__file__).with_name(population.TABLE))
        return
    number, of = (int(digits) for digits in given.part.split("/"))
    run = Run(more, given.seeds, None if given.keep is None else Path(given.keep), (number, of))
    for name, work in {"sets": of_sets, "regimes": of_regimes}.items():
        if given.what in ("all", name):
            work(run)


if __name__ == "__main__":
    main()
