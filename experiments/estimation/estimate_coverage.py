"""Coverage of the intervals for shares and accuracies, and the reduction of their width by the answers.

For every public crowd with true labels, a number of labels is drawn at random and used as known; the interval is
compared with the true value over all tasks, and with the interval from those labels alone. Not in the paper.
docs/estimates.md has the results.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.calibration.public_crowds import NAMES, PublicCrowd, class_codes, folder_of_more, public_crowd
from experiments.estimation.estimate_constants import lean_table, model_cases, unseen_table
from experiments.runner.experiment import Claim, Experiment, Figure, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.arrays import FloatArray, IntArray
from quorate.datasets import load
from quorate.datasets.sources import SOURCES
from quorate.errors import UnreadableFileError
from quorate.estimation.estimands import Estimand, Prevalence, Right
from quorate.estimation.means import SHARE_BIAS
from quorate.estimation.prediction_powered import PSEUDO_OBSERVATIONS, Guesses, over_all, ppi_rows
from quorate.methods.aggregate import aggregate, majority_vote
from quorate.progress import report

Z = 1.959963984540054
SHARES, VOTE, MODEL = QUANTITIES = ("share of each class", "accuracy of the majority vote", "accuracy of a model")
MODEL_RIGHT = 0.8  # accuracy of the simulated model, whose errors are independent of those of the crowd
ASKED = (0.93, 0.97)  # coverage at 95 %
JUDGES = "judges_civil"
JUDGES_KNOWN = 200
JUDGES_HALF = 0.06


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    draws: int
    known: tuple[int, ...] = (30, 100, 300)
    sets: tuple[str, ...] = NAMES
    unseen: int = 200  # draws of each simulated crowd


FULL = Settings(500)
QUICK = Settings(40, unseen=10)


@dataclass(frozen=True)
class IntervalCoverage:
    """One quantity of one crowd with a number of known labels: means over draws and classes."""

    crowd: str
    n_tasks: int
    known: int
    quantity: str
    coverage: float
    half: float  # half-width
    alone_coverage: float
    alone_half: float

    @property
    def ratio(self) -> float:
        """The width divided by the width from the known labels alone."""
        return self.half / self.alone_half


def run(*, quick: bool, seed: int) -> Experiment:
    """Draw known labels repeatedly for every public crowd that is available."""
    settings = QUICK if quick else FULL
    crowds = list(public_crowds(settings.sets))
    found: list[IntervalCoverage] = []
    for number, crowd in enumerate(crowds):
        report("estimates", number, len(crowds))
        known = (*settings.known, *((JUDGES_KNOWN,) if crowd.name == JUDGES else ()))
        found += interval_coverage(crowd, known, settings.draws, np.random.default_rng([seed, 18]))
    report("estimates", len(crowds), len(crowds))
    cases = model_cases(crowds)
    beside = (_summary(found), *_by_crowd(found), unseen_table(settings.unseen, seed), lean_table(cases))
    return Experiment(_table(found), beside, (_figure(found),), _claims(found), _notes(settings, crowds))


def public_crowds(names: tuple[str, ...]) -> Iterator[PublicCrowd]:
    """Read the crowds that can be had: of those that no loader fetches, where the folder that holds them is there."""
    try:
        more = folder_of_more()
    except UnreadableFileError:
        more = None
    for name in names:
        if more is not None:
            yield public_crowd(name, more)
        elif name in SOURCES:
            data = load(name)
            yield PublicCrowd(name, data.answers, class_codes(data.truth, data.answers))


def interval_coverage(
    crowd: PublicCrowd, known: tuple[int, ...], draws: int, rng: np.random.Generator
) -> list[IntervalCoverage]:
    """Estimate all quantities from many draws of known labels; not if they would be half of the tasks or more."""
    judged = np.flatnonzero(crowd.truth >= 0)
    true = crowd.truth[judged]
    n_tasks = len(judged)
    m = crowd.answers.n_classes
    posterior = aggregate(crowd.answers, intervals="none").vote.posterior[judged]
    models = majority_vote(crowd.answers).vote.label[judged], _model(true, m, rng)
    quantities: tuple[Estimand, ...] = (Prevalence(m), *(Right(labels) for labels in models))
    guess = np.concatenate([each.expected(posterior) for each in quantities])
    y = np.concatenate([each.at(np.arange(n_tasks), true) for each in quantities])
    # With two classes, both shares give the same result.
    parts = {SHARES: range(m if m > 2 else 1), VOTE: (m,), MODEL: (m + 1,)}
    found = []
    for n in (n for n in known if 2 * n <= n_tasks):
        rows = np.argsort(rng.random((draws, n_tasks)), axis=1)[:, :n]
        for what, at in parts.items():
            ends = np.stack([_ends(y[k][rows], guess[k], rows) for k in at], axis=2)
            found.append(IntervalCoverage(crowd.name, n_tasks, n, what, *_judged(ends, y[list(at)])))
    return found


def _ends(y: FloatArray, guess: FloatArray, rows: IntArray) -> FloatArray:
    """Return the ends of the interval and of that from the known labels alone; draws × 4."""
    guesses = Guesses.of(guess[None]).repeated(len(y))
    zero = np.zeros(len(y))
    one = np.ones(len(y))
    found = ppi_rows(y, guess[rows], guesses, lowest=zero, highest=one, z=Z)
    found = over_all(found, 0.0, len(guess), len(guess), is_count=True)
    return np.stack([found.low, found.high, found.known_low, found.known_high], axis=1)


def _judged(ends: FloatArray, y: FloatArray) -> tuple[float, ...]:
    """Return coverage and half-width, with and without the posterior."""
    truth = y.mean(axis=1)
    near = 1e-9
    found: list[float] = []
    for low, high in ((ends[:, 0], ends[:, 1]), (ends[:, 2], ends[:, 3])):
        inside = (low <= truth + near) & (truth - near <= high)
        found += [float(inside.mean()), float((high - low).mean() / 2)]
    return tuple(found)


def _model(true: IntArray, m: int, rng: np.random.Generator) -> IntArray:
    """Return simulated predictions of a model."""
    wrong = (true + rng.integers(1, max(m, 2), len(true))) % m
    return np.where(rng.random(len(true)) < MODEL_RIGHT, true, wrong)


def _table(found: list[IntervalCoverage]) -> Tabulation:
    columns = ("crowd", "tasks", "known", "quantity", "coverage", "half_width", "ratio", "alone_coverage", "alone_half")
    rows = [
        (h.crowd, h.n_tasks, h.known, h.quantity, h.coverage, h.half, h.ratio, h.alone_coverage, h.alone_half)
        for h in found
    ]
    return Tabulation("Intervals from known labels and answers", columns, tuple(rows))


def _groups(found: list[IntervalCoverage]) -> dict[tuple[str, int], list[IntervalCoverage]]:
    groups: dict[tuple[str, int], list[IntervalCoverage]] = {}
    for each in found:
        if each.known != JUDGES_KNOWN:
            groups.setdefault((each.quantity, each.known), []).append(each)
    return groups


def _summary(found: list[IntervalCoverage]) -> Tabulation:
    """Return means over crowds, with equal weight for every crowd."""
    rows = []
    for (quantity, known), own in _groups(found).items():
        coverage = [each.coverage for each in own]
        ratio = [each.ratio for each in own]
        inside = sum(ASKED[0] <= each <= ASKED[1] for each in coverage)
        rows.append(
            (
                quantity,
                known,
                len(own),
                float(np.mean(coverage)),
                f"{min(coverage):.3f} to {max(coverage):.3f}",
                inside,
                float(np.mean([each.half for each in own])),
                float(np.mean([each.alone_half for each in own])),
                float(np.mean(ratio)),
                max(ratio),
            )
        )
    columns = (
        "quantity",
        "known labels",
        "crowds",
        "coverage",
        "least to most",
        "within .93–.97",
        "half width",
        "by known labels alone",
        "ratio",
        "largest ratio",
    )
    return Tabulation("Mean over the public crowds", columns, tuple(rows))


def _by_crowd(found: list[IntervalCoverage]) -> Iterator[Tabulation]:
    known = sorted({each.known for each in found})
    for quantity in QUANTITIES:
        cells = {(each.crowd, each.known): each for each in found if each.quantity == quantity}
        rows = []
        for crowd in dict.fromkeys(each.crowd for each in found):
            cell_text = [cells.get((crowd, n)) for n in known]
            rows.append(
                (crowd, *(None if h is None else f"{h.coverage:.3f}, {h.half:.3f}, {h.ratio:.2f}" for h in cell_text))
            )
        title = f"{quantity[0].upper()}{quantity[1:]}: coverage, half width, ratio to the known labels alone"
        yield Tabulation(title, ("crowd", *(f"{n} known" for n in known)), tuple(rows))


def _figure(found: list[IntervalCoverage]) -> Figure:
    rows = [
        {"known": known, "quantity": quantity, "ratio": float(np.mean([each.ratio for each in own]))}
        for (quantity, known), own in _groups(found).items()
    ]
    spec = lines(
        rows,
        axis("x", "known", "known labels", log=True),
        axis("y", "ratio", "width, as a share of the known labels alone", domain=(0.5, 1)),
        "quantity",
        order=QUANTITIES,
    )
    return Figure("estimates", "What the answers save: mean over the public crowds.", spec)


def _claims(found: list[IntervalCoverage]) -> tuple[Claim, ...]:
    groups = _groups(found)
    coverage = {key: float(np.mean([each.coverage for each in own])) for key, own in groups.items()}
    worst = max(found, key=lambda each: each.ratio)
    claims = [
        Claim(
            f"Intervals cover between {ASKED[0]:g} and {ASKED[1]:g}, on average over the public crowds.",
            verdict(*(ASKED[0] <= each <= ASKED[1] for each in coverage.values())),
            "; ".join(f"{what}, {n} known: {each:.3f}" for (what, n), each in coverage.items()),
        ),
        Claim(
            "They are on average never wider than those from the known labels alone.",
            verdict(worst.ratio <= 1),
            f"the largest ratio is {worst.ratio:.3f} ({worst.crowd}, {worst.quantity}, {worst.known} known)",
        ),
    ]
    for each in found:
        if (each.crowd, each.known, each.quantity) == (JUDGES, JUDGES_KNOWN, SHARES):
            text = f"On {JUDGES} with {JUDGES_KNOWN} known labels the share is known to within ± {JUDGES_HALF:g}."
            cell_text = (
                f"± {each.half:.4f}, coverage {each.coverage:.3f}; by the known labels alone ± {each.alone_half:.4f}"
            )
            claims.append(Claim(text, verdict(each.half <= JUDGES_HALF), cell_text))
    return tuple(claims)


def _notes(settings: Settings, crowds: list[PublicCrowd]) -> tuple[str, ...]:
    return (
        f"{len(crowds)} crowds, {settings.draws} draws of known labels from each; a crowd counts where it has twice as "
        "many tasks with truth. The tasks with truth are the population: what is left to chance is which of them are "
        "known. The posterior is the default method's, without known labels.",
        f"The model is simulated: right {MODEL_RIGHT:.0%} of the time, whatever the crowd says.",
        f"Two constants: {PSEUDO_OBSERVATIONS:g} observations at either end of the range, and a lean of {SHARE_BIAS:g} "
        "where no label is known. The last two tables show how much they matter.",
    )
