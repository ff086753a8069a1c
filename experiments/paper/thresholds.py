"""The paper's threshold on correlations, and a delta for it that needs no truth [Ma20, after Theorem 12, pert].

The paper drops pairs with |C_ij| below delta + O(sqrt(log W / T)) and gives neither delta nor the constant. The
constant here is M/(M-1), and T is the number of tasks that the pair shares. A delta chosen with the true labels would
be no result; here it is chosen so that the labels depend least on the half of the tasks from which skills are
estimated.
"""

import numpy as np

from experiments.runner.experiment import Tabulation
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.datasets import load
from quorate.evaluation.metrics import expected_error
from quorate.methods.aggregate import aggregate
from quorate.skills.estimate_skills import solve
from quorate.skills.identification import identify_workers
from quorate.voting.vote import vote_weights, weighted_majority

DELTAS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2)  # chosen before any was tried
NO_DELTA = "none"  # all pairs are used
WEIGHTINGS = {"shared": "N_ij", "binary": "none, as printed for many classes"}
SPLITS = 5  # into halves
SEVEN = {
    "rte1": "RTE1", "temp": "Temp", "dogs": "Dogs", "wsd": "WSD", "web": "Web", "bluebird": "Bluebird",
    "product": "Product",
}  # fmt: skip


def spec_of(weighting: str, delta: float | None) -> str:
    """Return the method with a threshold as text for `compare`.

    >>> spec_of("binary", 0.05), spec_of("shared", None)
    ('rank-one:weighting=binary:threshold=0.05', 'rank-one')
    """
    weighted = [] if weighting == "shared" else [f"weighting={weighting}"]
    return ":".join(["rank-one", *weighted, *([] if delta is None else [f"threshold={delta:g}"])])


SPECS = {(weighting, delta): spec_of(weighting, delta) for weighting in WEIGHTINGS for delta in (None, *DELTAS)}


def _weights(answers: Answers, delta: float | None) -> FloatArray:
    skills = solve(identify_workers(answers, threshold=delta)).skills
    return np.zeros(answers.n_workers) if np.isnan(skills).all() else vote_weights(answers, skills)


def stability(answers: Answers, delta: float | None, *, seed: int, splits: int = SPLITS) -> float:
    """Return the agreement of the labels with skills from one half of the tasks and from the other half.

    >>> from quorate.simulate import crowd
    >>> stability(crowd(400, 10, 5, skills=np.full(10, 0.9), seed=0).answers, None, seed=0, splits=2) > 0.9
    True
    """
    alike = []
    for split in range(splits):
        half = np.random.default_rng([seed, split]).permutation(answers.n_tasks) < answers.n_tasks // 2
        weights = [_weights(answers.where(side[answers.task]), delta) for side in (half, ~half)]
        one, two = (weighted_majority(answers, each).label for each in weights)
        alike.append(float((one == two).mean()))
    return float(np.mean(alike))


def stable_delta(answers: Answers, *, seed: int) -> tuple[float | None, dict[float | None, float]]:
    """Return the threshold of the grid, or none, with the most stable labels; the least strict of equal ones."""
    found = {delta: stability(answers, delta, seed=seed) for delta in (None, *DELTAS)}
    return max(found, key=lambda delta: (found[delta], 1.0 if delta is None else -delta)), found


def rules(*, sets: tuple[str, ...] = tuple(SEVEN), seed: int) -> Tabulation:
    """Return the errors of rules without true labels, and the smallest error on the grid, which needs them."""
    rows = []
    for name in sets:
        data = load(name)
        errors = {
            delta: expected_error(aggregate(data.answers, "rank-one", threshold=delta), data.truth).error
            for delta in (None, *DELTAS)
        }
        chosen, found = stable_delta(data.answers, seed=seed)
        best = min(errors, key=lambda delta: errors[delta])
        rows.append(
            (
                *(
                    SEVEN[name],
                    errors[None],
                    errors[0.0],
                    delta_text(chosen),
                    errors[chosen],
                    found[None],
                    found[chosen],
                ),
                *(delta_text(best), errors[best]),
            )
        )
    columns = (
        "set", "no threshold", "delta 0", "delta by halves", "its error", "labels alike, no threshold", "alike, chosen",
        "delta by the truth", "its error, which is no result",
    )  # fmt: skip
    return Tabulation("A threshold without the truth: what it reaches on seven sets", columns, tuple(rows))


def delta_text(delta: float | None) -> str:
    """Return a delta as text.

    >>> delta_text(None), delta_text(0.05)
    ('none', '0.05')
    """
    return NO_DELTA if delta is None else f"{delta:g}"
