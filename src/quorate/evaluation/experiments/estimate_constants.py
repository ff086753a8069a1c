"""How much the two constants of estimates matter: observations at the ends of the range, and the lean of shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray
from quorate.evaluation.estimates.meters import LEAN, model_meter
from quorate.evaluation.estimates.quantities import Prevalence
from quorate.evaluation.experiments.experiment import Row, Tabulation
from quorate.evaluation.experiments.public_crowds import PublicCrowd
from quorate.uncertainty.prediction_powered import KnownSample, powered_means

Z = 1.959963984540054
TRIED = (0.02, 0.05, 0.1, 0.25, 0.5)
SHARES = (0.02, 0.05, 0.1, 0.3, 0.5)
N_TASKS, KNOWN = 1000, (30, 100)
# How a crowd errs on tasks of a class and on the others, by the class's share; what it says is then 50 to 100 % sure.
ERRORS = {
    "errs evenly, 5 %": (0.05, 0.05),
    "errs evenly, 20 %": (0.2, 0.2),
    "misses 10 %": (0.1, 0.0),
    "misses 40 %": (0.4, 0.0),
    "overcalls by half": (0.0, 0.5),
    "guesses": (0.5, 0.5),
}


def drawn_crowd(share: float, errors: tuple[float, float], rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw which tasks are of a class, and how sure a crowd is of it; errors on the others are as many as on these."""
    true = rng.random(N_TASKS) < share
    missed, called = errors[0], errors[1] if errors[0] == errors[1] == 0.5 else errors[1] * share / (1 - share)
    said = np.where(true, rng.random(N_TASKS) >= missed, rng.random(N_TASKS) < called)
    sure = 0.5 + rng.beta(8, 1, N_TASKS) / 2
    return true.astype(np.float64), np.where(said, sure, 1 - sure)


def unseen_table(draws: int, seed: int) -> Tabulation:
    """Cover simulated crowds with more and fewer observations at the ends of the range."""
    rows = []
    for known in KNOWN:
        for unseen in TRIED:
            covered, widths = [], []
            for number, (share, errors) in enumerate((s, e) for s in SHARES for e in ERRORS.values()):
                rng = np.random.default_rng([seed, 19, known, number])  # the same crowds for every constant
                y, guess = drawn_crowd(share, errors, rng)
                hits, width = _covered(y, guess, known, draws, unseen, rng)
                covered.append(hits)
                widths.append(width)
            rows.append((known, unseen, float(np.mean(covered)), min(covered), float(np.mean(widths))))
    columns = (
        "known labels",
        "observations at either end",
        "mean coverage",
        "least",
        "width by known labels alone = 1",
    )
    return Tabulation(f"Simulated crowds: {len(SHARES)} shares, {len(ERRORS)} ways to err", columns, tuple(rows))


def _covered(
    y: FloatArray, guess: FloatArray, known: int, draws: int, unseen: float, rng: np.random.Generator
) -> tuple[float, float]:
    hits, ratios = [], []
    for _ in range(draws):
        rows = rng.permutation(len(y))[:known]
        sample = KnownSample.random(rows, len(y))
        found = powered_means(y[None, rows], guess[None], sample, z=Z, whole=True, unseen=unseen)
        hits.append(found.low[0] <= y.mean() + 1e-9 and y.mean() - 1e-9 <= found.high[0])
        ratios.append((found.high[0] - found.low[0]) / (found.known_high[0] - found.known_low[0]))
    return float(np.mean(hits)), float(np.mean(ratios))


@dataclass(frozen=True)
class ModelCase:
    """The shares of one crowd by the model alone: how far each is off, and what explains it."""

    name: str
    group: str
    off: FloatArray
    spread: FloatArray  # the standard error without a lean
    moved: FloatArray  # tasks that may be labelled wrongly, as a share

    @property
    def needed(self) -> FloatArray:
        """The least lean that covers each share."""
        beyond = np.maximum((self.off / Z) ** 2 - self.spread**2, 0.0)
        need: FloatArray = np.sqrt(beyond) / self.moved
        return need


def model_cases(crowds: Sequence[PublicCrowd]) -> list[ModelCase]:
    """Compare the model's shares with the truth."""
    found = []
    for crowd in crowds:
        judged = crowd.truth >= 0
        meter, quantity = model_meter(crowd.answers, None, 1.0), Prevalence(crowd.answers.n_classes)
        parts = meter.parts(quantity, judged)
        true = quantity.at(np.flatnonzero(judged), crowd.truth[judged]).mean(axis=1)
        kept = slice(0, len(true) if len(true) > 2 else 1)
        off = np.abs(true - parts.value)
        found.append(
            ModelCase(crowd.name, crowd.group, *(each[kept] for each in (off, np.sqrt(parts.variance), parts.moved)))
        )
    return found


def lean_table(cases: Sequence[ModelCase]) -> Tabulation:
    """Cover the shares of public crowds without any known label, each by the lean that the others ask for."""
    rows: list[Row] = []
    for lean in (0.0, 0.3, LEAN, 0.9):
        held = [float((each.needed <= lean).mean()) for each in cases]
        half = [float(np.mean(Z * np.sqrt(each.spread**2 + (lean * each.moved) ** 2))) for each in cases]
        rows.append((f"{lean:g}", float(np.mean(held)), float(np.mean(half))))
    asked = asked_for(cases)
    apart = [[other for other in cases if other.group != each.group] for each in cases]
    left_out = [float((each.needed <= asked_for(others)).mean()) for each, others in zip(cases, apart, strict=True)]
    rows.append((f"what covers 95 %: {asked:.3f}", float(np.mean(left_out)), None))
    title = "No known labels: shares of the public crowds by the model (last: each by what the others ask for)"
    return Tabulation(title, ("lean", "coverage", "half width"), tuple(rows))


def asked_for(cases: Sequence[ModelCase]) -> float:
    """Return the lean at which 95 % of the shares are covered, every crowd with the same say."""
    if not cases:
        return 0.0
    need = np.concatenate([each.needed for each in cases])
    say = np.concatenate([np.full(len(each.needed), 1 / len(each.needed)) for each in cases])
    order = np.argsort(need)
    reached = np.cumsum(say[order])
    return float(need[order][min(np.searchsorted(reached, 0.95 * reached[-1]), len(need) - 1)])
