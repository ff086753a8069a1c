"""Workers whose skill in this batch is not what was known of them: drift against what `skills=` says.

What these answers alone say of a worker, r, has the variance f·(alpha + beta u - gamma u²) if its skill is still the
known one, u; what is known of it has a variance of its own. Their difference over the root of the sum is tested on both
sides, adjusted over all workers who are known.
"""

from collections.abc import Iterator

import numpy as np

from quorate.arrays import FloatArray
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.diagnosis.finding import Finding, named
from quorate.result import Result, count
from quorate.uncertainty.centred_score import CentredInference

ENOUGH = 5  # answers in this batch, below which its estimate is no normal one


def changed_p(result: Result) -> FloatArray:
    """Return the p-value of each worker being as skilled as was known; NaN where that is not tested.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 6, 6, skills=[0.8, 0.8, 0.8, 0.8, 0.8, 0.1], seed=0)
    >>> before = {name: (0.8, 0.7, 0.9) for name in crowd.answers.worker_names.to_pylist()}
    >>> int(changed_p(quorate.aggregate(crowd.answers, skills=before)).argmin())
    5
    """
    from scipy.special import ndtr

    n, inference = result.roster.n_workers, result.inference
    if not isinstance(inference, CentredInference) or inference.priors is None:
        return np.full(n, np.nan)
    priors, score = inference.priors, inference.batch_score()
    # Their own spread stands beside that of the draws where intervals were left out.
    inflation = np.nan_to_num(result.intervals.inflation, nan=1.0)
    spread = score.variance(priors.skill)[:n] * inflation
    tested = priors.is_known[:n] & (result.roster.per_worker >= ENOUGH) & ~np.isnan(score.raw[:n])
    error = np.sqrt(spread + 1 / np.maximum(priors.precision[:n], 1e-12))
    z = np.where(tested, (score.raw[:n] - priors.skill[:n]) / error, np.nan)
    p: FloatArray = 2 * ndtr(-np.abs(z))
    return p


def since_before(result: Result) -> Iterator[Finding]:
    """Tell of the workers who are no longer what was known of them, the surest first.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 6, 6, skills=[0.8, 0.8, 0.8, 0.8, 0.8, 0.1], seed=0)
    >>> before = {name: (0.8, 0.7, 0.9) for name in crowd.answers.worker_names.to_pylist()}
    >>> [finding.workers for finding in since_before(quorate.aggregate(crowd.answers, skills=before))]
    [(5,)]
    """
    p = changed_p(result)
    inference = result.inference
    if np.isnan(p).all() or not isinstance(inference, CentredInference) or inference.priors is None:
        return
    priors, now = inference.priors, inference.batch_score().raw
    least = -1 / (result.roster.n_classes - 1)
    sure = adjusted(p)
    chosen = np.flatnonzero(sure <= LEVEL)
    for worker in chosen[np.lexsort([chosen, p[chosen]])].tolist():
        known, here = float(priors.skill[worker]), float(np.clip(now[worker], least, 1.0))
        n = int(result.roster.per_worker[worker])
        verb = "fallen" if here < known else "risen"
        yield Finding(
            "drift",
            f"the skill of worker {named(result.roster.worker_names, [worker])} has {verb} since it was known: "
            f"{known:.2f} then, {here:.2f} by {count(n, 'answer')} here",
            float(sure[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"known": known, "here": here, "answers": n, "p": float(p[worker])},
        )
