"""Pairs of workers, and clusters of them, that agree beyond their skills.

Two workers of skills x_i and x_j agree on a task with probability q = ((M-1) x_i x_j + 1)/M, whatever the truth. A pair
that agrees far more often may copy, share an account or share a bias; the data cannot say which. Three things make the
test honest. The skills that a pair is judged by are those that the other pairs speak of: a pair that copies would
otherwise raise its own skills until they explain it. Pairs that stand out are set aside, and the skills fitted without
them, because in a small crowd one such pair pulls at everybody's skill. And what is not known of the two skills widens
the law of the agreements.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.answers import Counted
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.diagnosis.finding import Finding, named
from quorate.meetings.graph import grouped, identify_pairs
from quorate.meetings.pairs import PairStats, correlations
from quorate.skills.coordinate import coordinate_sweeps
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem, box
from quorate.uncertainty import Inference

ENOUGH = 20  # shared tasks, below which no pair is tested
ROUNDS = 20  # of setting pairs aside, at the most
SUSPECT = 3.0  # standard errors above what the skills explain, at which a pair is set aside while they are fitted
LEAST_AGREEMENT, MOST_AGREEMENT = 0.001, 0.999  # as probabilities: nobody agrees never, or always


class RankOneInference(Protocol):
    """Rank-one skills, gold's included, and what is known of how sure they are, wherever the answers lie."""

    @property
    def skills(self) -> FloatArray:
        """The estimate; NaN where it is not determined."""

    @property
    def n_classes(self) -> int:
        """M."""

    @property
    def per_worker(self) -> IntArray:
        """N_i."""

    def at(self, skills: FloatArray) -> Inference:
        """Return the same for other skills."""


@dataclass(frozen=True)
class AgreementTest:
    """Every pair that was tested."""

    pairs: PairStats
    expected: FloatArray  # the share of shared tasks on which their skills let them agree
    spread: FloatArray  # rho: how much of the variance of one agreement is due to skills that are not known exactly
    p: FloatArray  # of so much agreement or more, by chance
    adjusted: FloatArray  # over all pairs tested

    @property
    def flagged(self) -> IntArray:
        """The positions of the pairs named, the surest first."""
        named = np.flatnonzero(self.adjusted <= LEVEL)
        return named[np.lexsort([self.p[named], self.adjusted[named]])]


def agreement_test(inference: RankOneInference, pairs: PairStats, n_workers: int) -> AgreementTest:
    """Test every pair of workers with enough shared tasks for agreement beyond their skills.

    Args:
        inference: rank-one skills, and what is behind them.
        pairs: of the same workers, gold's own included.
        n_workers: without gold.

    >>> import quorate
    >>> from quorate.meetings.pairs import pair_stats
    >>> result = quorate.aggregate(quorate.simulate.crowd(200, 6, 4, seed=1).answers, "rank-one")
    >>> test = agreement_test(result.inference, pair_stats(result.answers), 6)
    >>> len(test.p), len(test.flagged)
    (15, 0)
    """
    known = ~np.isnan(inference.skills)
    tested = (pairs.shared >= ENOUGH) & (pairs.j < n_workers) & known[pairs.i] & known[pairs.j]
    if not tested.any():  # the fits below cost something for each pair, tested or not
        nothing = np.zeros(0)
        return AgreementTest(PairStats.none(), nothing, nothing, nothing, nothing)
    fit = _Fit.of(inference, pairs, n_workers).without_suspects()
    expected, spread = (each[tested] for each in fit.expected())
    shown = pairs.among(tested)
    p = upper_tail(shown.shared, shown.agreed, expected, spread)
    return AgreementTest(shown, expected, spread, p, adjusted(p))


def upper_tail(shared: IntArray, agreed: IntArray, expected: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mid-p value of so many agreements or more, where the probability itself is uncertain.

    An uncertain probability makes the agreements of one pair alike; n of them are worth n/(1 + (n-1) spread), and the
    binomial law of so many, which need be no whole number, is an incomplete beta function.

    >>> one, two = upper_tail(np.array([2, 2]), np.array([2, 1]), np.array([0.5, 0.5]), np.zeros(2)).tolist()
    >>> one, two  # P(2)/2, and P(2) + P(1)/2
    (0.125, 0.5)
    """
    from scipy.special import betainc

    worth = 1 / (1 + (shared - 1) * spread)
    hits, misses = agreed * worth, (shared - agreed) * worth
    least = np.finfo(np.float64).tiny
    at_least = np.where(hits > 0, betainc(np.maximum(hits, least), misses + 1, expected), 1.0)
    more = np.where(misses > 0, betainc(hits + 1, np.maximum(misses, least), expected), 0.0)
    p: FloatArray = (at_least + more) / 2
    return p


@dataclass(frozen=True)
class _Fit:
    """Skills fitted to the pairs that weigh something."""

    inference: RankOneInference
    pairs: PairStats
    correlation: FloatArray
    weight: FloatArray  # N_ij, or zero for a pair set aside
    skills: FloatArray  # zero where not determined
    is_gold: BoolArray

    @staticmethod
    def of(inference: RankOneInference, pairs: PairStats, n_workers: int) -> "_Fit":
        return _Fit(
            inference,
            pairs,
            correlations(pairs, inference.n_classes),
            pairs.shared.astype(np.float64),
            np.nan_to_num(inference.skills),
            np.arange(len(inference.skills)) >= n_workers,
        )

    def without_suspects(self) -> "_Fit":
        """Set the worst quarter of the suspects aside, fit again, and so on until there is none.

        A quarter, because one bad pair makes good ones look bad; those are looked at again once it is gone.
        """
        fit = self
        for _ in range(ROUNDS):
            expected, _ = fit.expected(with_spread=False)
            n = fit.pairs.shared
            excess = (fit.pairs.agreed / n - expected) * np.sqrt(n / (expected * (1 - expected)))
            excess[fit.weight == 0] = 0.0
            suspects = np.flatnonzero(excess > SUSPECT)
            if len(suspects) == 0:
                break
            worst = suspects[np.argsort(-excess[suspects], kind="stable")[: max(len(suspects) // 4, 1)]]
            weight = fit.weight.copy()
            weight[worst] = 0.0
            fit = fit.refitted(weight)
        return fit

    def refitted(self, weight: FloatArray) -> "_Fit":
        """Fit the skills with other weights, from where they are."""
        per_worker = self.inference.per_worker
        lower, upper = box(per_worker, self.inference.n_classes, 1.0)
        lower[self.is_gold] = upper[self.is_gold] = 1.0
        moments = from_pairs(len(per_worker), self.pairs.i, self.pairs.j, weight, self.correlation)
        problem = Problem(moments, lower, upper, per_worker.astype(np.float64))
        # Warm and rough: the skills move little, and enter a test whose noise is larger.
        skills = coordinate_sweeps(problem, self.skills, tolerance=1e-3, max_iterations=200).skills
        return _Fit(self.inference, self.pairs, self.correlation, weight, skills, self.is_gold)

    def expected(self, *, with_spread: bool = True) -> tuple[FloatArray, FloatArray]:
        """Return q for each pair, from both skills as the other pairs have them, and how uncertain that makes it."""
        i, j, m = self.pairs.i, self.pairs.j, self.inference.n_classes
        x, w, c = self.skills, self.weight, self.correlation
        met, said = self._sums(w * x[j] ** 2, w * x[i] ** 2), self._sums(w * c * x[j], w * c * x[i])
        rest_i, rest_j = met[i] - w * x[j] ** 2, met[j] - w * x[i] ** 2
        without_j = self._ratio(said[i] - w * c * x[j], rest_i, x[i])
        without_i = self._ratio(said[j] - w * c * x[i], rest_j, x[j])
        without_j[self.is_gold[i]], without_i[self.is_gold[j]] = 1.0, 1.0
        q = np.clip(((m - 1) * without_j * without_i + 1) / m, LEAST_AGREEMENT, MOST_AGREEMENT)
        if not with_spread:
            return q, np.zeros(len(q))
        # The variance of each skill by its score, larger in proportion to what the pair's own tasks told of it.
        variance = np.nan_to_num(self.inference.at(x).score().variance(x), nan=1.0)
        everything = self._sums(self.pairs.shared * x[j] ** 2, self.pairs.shared * x[i] ** 2)
        least = np.finfo(np.float64).tiny
        of_i = np.minimum(variance[i] * everything[i] / np.maximum(rest_i, least), 1.0)
        of_j = np.minimum(variance[j] * everything[j] / np.maximum(rest_j, least), 1.0)
        of_i[self.is_gold[i]], of_j[self.is_gold[j]] = 0.0, 0.0
        product = without_i**2 * of_i + without_j**2 * of_j + of_i * of_j
        return q, np.minimum(((m - 1) / m) ** 2 * product / (q * (1 - q)), 1.0)

    def _sums(self, for_i: FloatArray, for_j: FloatArray) -> FloatArray:
        return self.pairs.by_worker(len(self.skills), for_i, for_j)

    def _ratio(self, said: FloatArray, met: FloatArray, otherwise: FloatArray) -> FloatArray:
        """Divide within the range of skills; where nothing else is known of a worker, its skill as it is."""
        told = met > 1e-9
        found = np.divide(said, met, out=otherwise.copy(), where=told)
        return np.clip(found, -1 / (self.inference.n_classes - 1), 1.0)


def agreement_findings(test: AgreementTest, answers: Counted) -> Iterator[Finding]:
    """Tell of the clusters of three workers or more, the surest first, and of every pair.

    >>> import quorate
    >>> from quorate.meetings.pairs import pair_stats
    >>> result = quorate.aggregate(quorate.simulate.crowd(200, 6, 4, seed=1).answers, "rank-one")
    >>> list(agreement_findings(agreement_test(result.inference, pair_stats(result.answers), 6), result.answers))
    []
    """
    flagged = test.flagged
    yield from _clusters(test, answers, flagged)
    for k in flagged.tolist():
        i, j = int(test.pairs.i[k]), int(test.pairs.j[k])
        shared, agreed, expected = int(test.pairs.shared[k]), int(test.pairs.agreed[k]), float(test.expected[k])
        yield Finding(
            "agreeing-pair",
            f"workers {named(answers.worker_names, (i, j))} agree beyond their skills: on {agreed:,} of {shared:,} "
            f"shared tasks ({agreed / shared:.0%}), where their skills explain {expected:.0%}",
            float(test.adjusted[k]),
            "adjusted p-value",
            workers=(i, j),
            evidence={"shared": shared, "agreed": agreed, "expected": expected * shared, "p": float(test.p[k])},
            figures=f"workers {named(answers.worker_names, (i, j))}: adjusted p {test.adjusted[k]:.2g}",
        )


def _clusters(test: AgreementTest, answers: Counted, flagged: IntArray) -> Iterator[Finding]:
    pairs = test.pairs.among(flagged)
    graph = identify_pairs(pairs, answers.n_workers)
    members, inside = (grouped(keys, graph.n_components) for keys in (graph.component, graph.component[pairs.i]))
    clusters = [(workers, flagged[own]) for workers, own in zip(members, inside, strict=True) if len(workers) > 2]
    for workers, own in sorted(clusters, key=lambda cluster: (-len(cluster[0]), float(test.p[cluster[1]].min()))):
        shared, agreed = int(test.pairs.shared[own].sum()), int(test.pairs.agreed[own].sum())
        expected = float((test.expected[own] * test.pairs.shared[own]).sum())
        yield Finding(
            "agreeing-cluster",
            f"{len(workers):,} workers agree beyond their skills, each with some other of them "
            f"({len(own):,} pairs): {named(answers.worker_names, workers)}",
            float(test.adjusted[own].min()),
            "adjusted p-value of its surest pair",
            workers=tuple(workers.tolist()),
            evidence={"pairs": len(own), "shared": shared, "agreed": agreed, "expected": expected},
        )
