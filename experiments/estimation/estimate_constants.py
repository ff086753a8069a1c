"""Effect of the two constants of estimates: pseudo-observations at the ends of the range, and the bias of shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.calibration.public_crowds import PublicCrowd
from experiments.runner.experiment import Row, Tabulation
from quorate.arrays import FloatArray
from quorate.estimation.estimands import Prevalence
from quorate.estimation.means import SHARE_BIAS, model_estimator
from quorate.estimation.prediction_powered import Guesses, over_all, ppi_rows

Z = 1.959963984540054
TRIED = (0.02, 0.05, 0.1, 0.25, 0.5)
SHARES = (0.02, 0.05, 0.1, 0.3, 0.5)
N_TASKS = 1000
KNOWN = (30, 100)
# Error rates of a crowd on tasks of a class and on others, by the share of the class; its confidence is 50 to 100 %.
ERRORS = {
    "errs evenly, 5 %": (0.05, 0.05),
    "errs evenly, 20 %": (0.2, 0.2),
    "misses 10 %": (0.1, 0.0),
    "misses 40 %": (0.4, 0.0),
    "overcalls by half": (0.0, 0.5),
    "guesses": (0.5, 0.5),
}


def drawn_crowd(share: float, errors: tuple[float, float], rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return which tasks are of a class and the confidence of a crowd, both random; other tasks have as many errors."""
    true = rng.random(N_TASKS) < share
    missed = errors[0]
    called = errors[1] if errors[0] == errors[1] == 0.5 else errors[1] * share / (1 - share)
    predicted = np.where(true, rng.random(N_TASKS) >= missed, rng.random(N_TASKS) < called)
    sure = 0.5 + rng.beta(8, 1, N_TASKS) / 2
    return true.astype(np.float64), np.where(predicted, sure, 1 - sure)


def unseen_table(draws: int, seed: int) -> Tabulation:
    """Return the coverage on simulated crowds for different numbers of pseudo-observations."""
    rows = []
    for known in KNOWN:
        for unseen in TRIED:
            covered = []
            widths = []
            alone = []
            for number, (share, errors) in enumerate((s, e) for s in SHARES for e in ERRORS.values()):
                rng = np.random.default_rng([seed, 19, known, number])  # the same crowds for every constant
                y, guess = drawn_crowd(share, errors, rng)
                hits, by_known, width = _covered(y, guess, known, draws, unseen, rng)
                covered.append(hits)
                alone.append(by_known)
                widths.append(width)
            ratio = float(np.mean(widths))
            rows.append((known, unseen, float(np.mean(covered)), min(covered), min(alone), ratio))
    columns = (
        "known labels",
        "observations at either end",
        "coverage",
        "least",
        "least by known labels alone",
        "ratio",
    )
    return Tabulation(f"Simulated crowds: {len(SHARES)} shares, {len(ERRORS)} ways to err", columns, tuple(rows))


def _covered(
    y: FloatArray, guess: FloatArray, known: int, draws: int, unseen: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the coverage, the coverage with the known labels alone, and the ratio of the widths."""
    rows = np.argsort(rng.random((draws, len(y))), axis=1)[:, :known]
    guesses = Guesses.of(guess[None]).repeated(draws)
    zero = np.zeros(draws)
    one = np.ones(draws)
    found = ppi_rows(y[rows], guess[rows], guesses, lowest=zero, highest=one, z=Z, unseen=unseen)
    found = over_all(found, 0.0, len(y), len(y), is_count=True)
    true = y.mean()
    near = 1e-9
    hits, alone = (
        ((low <= true + near) & (true - near <= high)).mean()
        for low, high in ((found.low, found.high), (found.known_low, found.known_high))
    )
    ratio = (found.high - found.low).mean() / (found.known_high - found.known_low).mean()
    return float(hits), float(alone), float(ratio)


@dataclass(frozen=True)
class ModelCase:
    """The shares of one crowd by the model alone: the error of each, and its parts."""

    name: str
    group: str
    off: FloatArray
    spread: FloatArray  # the standard error without the bias
    moved: FloatArray  # tasks that may be labelled wrongly, as a share

    @property
    def needed(self) -> FloatArray:
        """The smallest bias constant with which the interval contains each share."""
        excess = np.maximum((self.off / Z) ** 2 - self.spread**2, 0.0)
        need: FloatArray = np.sqrt(excess) / self.moved
        return need


def model_cases(crowds: Sequence[PublicCrowd]) -> list[ModelCase]:
    """Return the shares of each crowd by the model, compared with the true shares."""
    found = []
    for crowd in crowds:
        judged = crowd.truth >= 0
        meter = model_estimator(crowd.answers, None, 1.0)
        quantity = Prevalence(crowd.answers.n_classes)
        parts = meter.parts(quantity, judged)
        true = quantity.at(np.flatnonzero(judged), crowd.truth[judged]).mean(axis=1)
        kept = slice(0, len(true) if len(true) > 2 else 1)
        off = np.abs(true - parts.value)
        found.append(
            ModelCase(
                crowd.name, crowd.group, *(each[kept] for each in (off, np.sqrt(parts.variance), parts.label_gap))
            )
        )
    return found


def lean_table(cases: Sequence[ModelCase]) -> Tabulation:
    """Return the coverage on public crowds without known labels, each with the constant from the other crowds."""
    rows: list[Row] = []
    for lean in (0.0, 0.3, SHARE_BIAS, 0.9):
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
    """Return the bias constant with which 95 % of the shares are covered, with equal weight for every crowd."""
    if not cases:
        return 0.0
    need = np.concatenate([each.needed for each in cases])
    say = np.concatenate([np.full(len(each.needed), 1 / len(each.needed)) for each in cases])
    order = np.argsort(need)
    reached = np.cumsum(say[order])
    return float(need[order][min(np.searchsorted(reached, 0.95 * reached[-1]), len(need) - 1)])
