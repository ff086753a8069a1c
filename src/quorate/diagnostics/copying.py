"""Findings on copying workers: pairs, clusters and groups who agree more often than their skills explain.

Groups are found in `calibration/find_copying.py`, fitted in `models/copying.py` and rated in `skills/copying.py`.

Two workers of skills x_i and x_j agree on a task with probability q = ((M-1) x_i x_j + 1)/M, for every true class. A
pair that agrees far more often may copy, share an account or share a bias; the data do not determine which. Three
steps keep the test valid. (1) The skills of a pair are estimated from all other pairs: a pair that copies would
otherwise raise its own skills until they explain its agreement. (2) Pairs with a large excess are left out and the
skills are fitted without them, because in a small crowd one such pair changes every worker's skill. (3) The
distribution of the agreements includes the uncertainty of the two skills. If the other pairs agree no more than
guessers would, nothing is known about the two skills, and these two workers may be the only skilled ones.

The default method searches for groups in small crowds; in large crowds they are searched for here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.memory import blocks_of
from quorate.diagnostics.finding import MAX_FALSE_DISCOVERIES, Finding, named, subject
from quorate.graph.components import grouped, identify_pairs
from quorate.graph.pairs import PairStats, correlations
from quorate.methods.quorate import MAX_COPYING_WORKERS, copying_members, search_copying
from quorate.notes import copying_text
from quorate.result import Result
from quorate.skills.coordinate import coordinate_sweeps
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem, box
from quorate.statistics import Z_95, benjamini_hochberg, incomplete_beta

MIN_SHARED_TASKS = 20  # that a pair needs to be tested
MAX_REFITS = 20  # largest number of refits without suspect pairs
SUSPECT_Z = 3.0  # standard errors of agreement in excess of what the skills explain, above which a pair is suspect
# The same limit in standard errors that include the uncertainty of the skills. Tried on simulated crowds: 0, 1, 1.6,
# 2.3 and 3. From 1.6 on, copying pairs of six to ten workers stay in the fit, and other pairs are named instead; at 0,
# the only two skilled workers of a crowd are left out of the fit and named.
SUSPECT_Z_UNCERTAIN = 1.0
# Sum of squares of noise (of variance one) that skills fitted to it explain, per worker: 2 on average by theory, 1.4 to
# 2.2 in simulated crowds of 5 to 40 guessers, and at most 3 in 553 of 560 of these crowds.
NOISE_GAIN = 3.0
MIN_INFORMATION = 1e-9  # information about a skill that counts as none
# Limits of the probability that two workers agree: it is never 0 or 1.
MIN_AGREEMENT = 0.001
MAX_AGREEMENT = 0.999


class RankOneInference(Protocol):
    """Rank-one skills, gold's included, with their uncertainty, on any backend."""

    @property
    def skills(self) -> FloatArray:
        """The estimated skills; NaN where not determined."""

    @property
    def n_classes(self) -> int:
        """M: the number of classes."""

    @property
    def per_worker(self) -> IntArray:
        """N_i: the number of answers of each worker."""

    def peer_squares(self, skills: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of x_j² over each worker's peers on its tasks, and of x_j² x_k² over each two peers there."""


@dataclass(frozen=True)
class AgreementTest:
    """Test of every pair with enough shared tasks; shapes (pairs,)."""

    pairs: PairStats
    n_classes: int
    expected: FloatArray  # share of shared tasks on which the two agree by their skills
    rho: FloatArray  # correlation between the agreements on two tasks, from the uncertainty of the two skills
    p: FloatArray  # mid-p value: probability of this agreement or more, by their skills
    adjusted: FloatArray  # over all pairs tested

    def expected_range(self, k: int) -> tuple[float, float]:
        """Return the 95 % range of the expected share of pair k, from the uncertainty of its two skills."""
        q = float(self.expected[k])
        half = Z_95 * float(np.sqrt(self.rho[k] * q * (1 - q)))
        chance = 1 / self.n_classes
        # Workers whose skills have the same sign agree at least as often as guessers, others at most as often.
        least, most = (chance, 1.0) if q >= chance else (0.0, chance)
        return max(q - half, least), min(q + half, most)

    @property
    def flagged(self) -> IntArray:
        """The indices of the pairs that are named, smallest p-value first."""
        named = np.flatnonzero(self.adjusted <= MAX_FALSE_DISCOVERIES)
        return named[np.lexsort([self.p[named], self.adjusted[named]])]


def agreement_test(inference: RankOneInference, pairs: PairStats, n_workers: int) -> AgreementTest:
    """Test every pair of workers with enough shared tasks for agreement that exceeds what their skills explain.

    Args:
        inference: rank-one skills with their uncertainty.
        pairs: of the same workers, gold's own included.
        n_workers: without gold.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> result = quorate.aggregate(quorate.simulate.crowd(200, 6, 4, seed=1).answers, "rank-one")
    >>> test = agreement_test(result.inference, pair_stats(result.answers), 6)
    >>> len(test.p), len(test.flagged)
    (15, 0)
    """
    has_skill = ~np.isnan(inference.skills)
    is_tested = (pairs.shared >= MIN_SHARED_TASKS) & (pairs.j < n_workers) & has_skill[pairs.i] & has_skill[pairs.j]
    if not is_tested.any():  # the fits below take time for every pair, tested or not
        empty = np.zeros(0)
        return AgreementTest(PairStats.none(), inference.n_classes, empty, empty, empty, empty)
    fit = _Fit.of(inference, pairs, n_workers).without_suspects()
    expected, rho = (values[is_tested] for values in fit.expected_agreement())
    tested_pairs = pairs.among(is_tested)
    p = upper_tail(tested_pairs.shared, tested_pairs.agreed, expected, rho)
    return AgreementTest(tested_pairs, inference.n_classes, expected, rho, p, benjamini_hochberg(p))


def upper_tail(shared: IntArray, agreed: IntArray, expected: FloatArray, rho: FloatArray) -> FloatArray:
    """Return the mid-p value, P(more agreements) + P(as many)/2, of each pair, whose probability is itself uncertain.

    The uncertainty correlates the agreements of a pair: n of them carry the information of n/(1 + (n-1) rho)
    independent ones. As this number need not be whole, the binomial tail is computed as an incomplete beta function.

    >>> one, two = upper_tail(np.array([2, 2]), np.array([2, 1]), np.array([0.5, 0.5]), np.zeros(2)).tolist()
    >>> round(one, 9), round(two, 9)  # P(2)/2, and P(2) + P(1)/2
    (0.125, 0.5)
    """
    effective_share = 1 / (1 + (shared - 1) * rho)
    hits = agreed * effective_share
    misses = (shared - agreed) * effective_share
    at_least = np.where(hits > 0, incomplete_beta(np.where(hits > 0, hits, 1.0), misses + 1, expected), 1.0)
    more = np.where(misses > 0, incomplete_beta(hits + 1, np.where(misses > 0, misses, 1.0), expected), 0.0)
    p: FloatArray = (at_least + more) / 2
    return p


@dataclass(frozen=True)
class _PeerSums:
    """Sums over the peers j of each worker i, from which the variance of its skill follows (see `quorate.skills`)."""

    n_classes: int
    squares: FloatArray  # sum of N_ij x_j²: the information about the skill
    cubes: FloatArray  # sum of N_ij x_j³
    fourths: FloatArray  # sum of N_ij x_j⁴
    # Sum of x_j² x_k² over every two peers on every task: comparisons with two peers on one task are not independent.
    paired_squares: FloatArray
    powers: Sequence[FloatArray] = ()  # x², x³ and x⁴ of all workers, from which `without` subtracts

    @staticmethod
    def of(fit: "_Fit") -> "_PeerSums":
        i = fit.pairs.i
        j = fit.pairs.j
        m = fit.inference.n_classes
        x = fit.skills
        w = fit.weight
        powers = [x**k for k in (2, 3, 4)]  # of the workers: there are far fewer than pairs
        squares, cubes, fourths = (fit._sum_over_peers(w * power[j], w * power[i]) for power in powers)
        squares_of_all, paired_squares = fit.inference.peer_squares(x)  # with the pairs that are left out
        part = squares / np.maximum(squares_of_all, MIN_INFORMATION)
        return _PeerSums(m, squares, cubes, fourths, np.maximum(paired_squares, 0.0) * part**2, powers)

    def without(self, worker: IntArray, weight: FloatArray, peer: IntArray) -> "_PeerSums":
        """Return the sums of some workers, each without one peer."""
        x2, x3, x4 = (power[peer] for power in self.powers)
        of_worker = self.squares[worker]
        squares = of_worker - weight * x2
        part = squares / np.maximum(of_worker, MIN_INFORMATION)
        return _PeerSums(
            self.n_classes,
            squares,
            self.cubes[worker] - weight * x3,
            self.fourths[worker] - weight * x4,
            self.paired_squares[worker] * part**2,
        )

    def variance(self, u: FloatArray, information: FloatArray | None = None) -> FloatArray:
        """Return the variance of skills u: at most one, and one where there is no information."""
        m = self.n_classes
        constant = (self.squares + self.paired_squares) / (m - 1)
        linear = (m - 2) / (m - 1) * u * (self.cubes + self.paired_squares)
        quadratic = u**2 * (self.fourths + self.paired_squares)
        total = constant + linear - quadratic
        information = self.squares if information is None else information
        variance = np.maximum(total, 0.0) / np.maximum(information, MIN_INFORMATION) ** 2
        return np.where(information > MIN_INFORMATION, np.minimum(variance, 1.0), 1.0)


@dataclass(frozen=True)
class _Fit:
    """Skills fitted to the pairs whose weight is above zero."""

    inference: RankOneInference
    pairs: PairStats
    correlation: FloatArray
    weight: FloatArray  # N_ij, or zero for a pair that is left out
    skills: FloatArray  # zero where not determined
    is_gold: BoolArray
    component: IntArray  # of each worker, in the interaction graph of all pairs

    @staticmethod
    def of(inference: RankOneInference, pairs: PairStats, n_workers: int) -> "_Fit":
        return _Fit(
            inference,
            pairs,
            correlations(pairs, inference.n_classes),
            pairs.shared.astype(np.float64),
            np.nan_to_num(inference.skills),
            np.arange(len(inference.skills)) >= n_workers,
            identify_pairs(pairs, len(inference.skills)).component,
        )

    def without_suspects(self) -> "_Fit":
        """Return the fit without suspect pairs: the worst quarter of them is left out before each refit.

        Only a quarter, because one bad pair makes good pairs look bad; these are tested again after the refit. A pair
        whose excess the uncertainty of its two skills explains is not suspect: it may be the only information about
        its workers, and without it the skills of the others would be fitted to noise.
        """
        fit = self
        for _ in range(MAX_REFITS):
            expected, rho = fit.expected_agreement()
            n = fit.pairs.shared
            excess = (fit.pairs.agreed / n - expected) * np.sqrt(n / (expected * (1 - expected)))
            is_explained = excess < SUSPECT_Z_UNCERTAIN * np.sqrt(1 + (n - 1) * rho)
            excess[(fit.weight == 0) | is_explained] = 0.0
            suspects = np.flatnonzero(excess > SUSPECT_Z)
            if len(suspects) == 0:
                break
            worst = suspects[np.argsort(-excess[suspects], kind="stable")[: max(len(suspects) // 4, 1)]]
            weight = fit.weight.copy()
            weight[worst] = 0.0
            fit = fit.refitted(weight)
        return fit

    def refitted(self, weight: FloatArray) -> "_Fit":
        """Return the fit with other weights, starting from the current skills."""
        per_worker = self.inference.per_worker
        lower, upper = box(per_worker, self.inference.n_classes, 1.0)
        lower[self.is_gold] = upper[self.is_gold] = 1.0
        moments = from_pairs(len(per_worker), self.pairs.i, self.pairs.j, weight, self.correlation)
        problem = Problem(moments, lower, upper, per_worker.astype(np.float64))
        # A large tolerance suffices: the skills change little, and the noise of the test is larger.
        skills = coordinate_sweeps(problem, self.skills, tolerance=1e-3, max_iterations=200).skills
        return replace(self, weight=weight, skills=skills)

    def expected_agreement(self) -> tuple[FloatArray, FloatArray]:
        """Return `expected` and `rho` of each pair (see `AgreementTest`), with skills from the other pairs."""
        i = self.pairs.i
        j = self.pairs.j
        m = self.inference.n_classes
        x = self.skills
        w = self.weight
        c = self.correlation
        agreement = w * c
        products = self._sum_over_peers(agreement * x[j], agreement * x[i])
        peer_sums = _PeerSums.of(self)
        skill_variance = np.where(self.is_gold, 0.0, peer_sums.variance(x))
        noise = self._sum_over_peers(w * skill_variance[j], w * skill_variance[i])
        is_informed = self._has_informed_peers()
        shown = np.nan_to_num(self.inference.skills)
        skills = []
        variances = []
        for worker, peer in ((i, j), (j, i)):
            rest = peer_sums.without(worker, w, peer)
            skill = self._ratio(products[worker] - agreement * x[peer], rest.squares, x[worker])
            # The peers' skills have errors themselves; the squares of these are subtracted, as they are no information.
            variance = rest.variance(skill, rest.squares - (noise[worker] - w * skill_variance[peer]))
            skill = np.where(is_informed, skill, x[worker])
            variance = np.where(is_informed, variance, 1.0)
            # The estimate without one pair is less certain; it must not reverse the sign of the skill that is shown.
            skill = np.where(shown[worker] < 0, np.minimum(skill, 0.0), np.maximum(skill, 0.0))
            skill[self.is_gold[worker]] = 1.0
            variance[self.is_gold[worker]] = 0.0
            skills.append(skill)
            variances.append(variance)
        q = np.clip(((m - 1) * skills[0] * skills[1] + 1) / m, MIN_AGREEMENT, MAX_AGREEMENT)
        product = skills[1] ** 2 * variances[0] + skills[0] ** 2 * variances[1] + variances[0] * variances[1]
        return q, np.minimum(((m - 1) / m) ** 2 * product / (q * (1 - q)), 1.0)

    def _has_informed_peers(self) -> BoolArray:
        """Whether, for each pair, the other pairs of its component agree more than guessers would.

        Otherwise the two workers may be the only skilled ones, and no answer contradicts any skills of these two. The
        skills of K workers fitted to noise of variance one explain 2K of its sum of squares: half the square of the
        largest eigenvalue of a symmetric random matrix, 2 sqrt(K).
        """
        i = self.pairs.i
        j = self.pairs.j
        c = self.correlation
        residual = c - self.skills[i] * self.skills[j]
        gain = (self.inference.n_classes - 1) * self.weight * (c**2 - residual**2)
        component = self.component[i]
        n_workers = np.bincount(self.component)[component]
        total = np.bincount(component, gain)[component]
        has_informed_peers: BoolArray = total - gain > NOISE_GAIN * n_workers
        return has_informed_peers

    def _sum_over_peers(self, for_i: FloatArray, for_j: FloatArray) -> FloatArray:
        return self.pairs.by_worker(len(self.skills), for_i, for_j)

    def _ratio(self, product: FloatArray, information: FloatArray, otherwise: FloatArray) -> FloatArray:
        """Return product / information, clipped to the range of skills; ``otherwise`` where there is no information."""
        skill = np.divide(product, information, out=otherwise.copy(), where=information > MIN_INFORMATION)
        return np.clip(skill, -1 / (self.inference.n_classes - 1), 1.0)


def agreement_findings(
    test: AgreementTest, answers: Counted, shown_skills: FloatArray | None = None
) -> Iterator[Finding]:
    """Yield a finding for each cluster of three workers or more, the largest first, then for each pair.

    Args:
        test: of the pairs.
        answers: the ids of the workers.
        shown_skills: the skills in the worker table; None: those of the test.

    >>> import quorate
    >>> from quorate.graph.pairs import pair_stats
    >>> result = quorate.aggregate(quorate.simulate.crowd(200, 6, 4, seed=1).answers, "rank-one")
    >>> list(agreement_findings(agreement_test(result.inference, pair_stats(result.answers), 6), result.answers))
    []
    """
    n = np.maximum(test.pairs.shared, 1)
    by_skills = _expected_by_skills(test, answers.n_classes, shown_skills)
    # A pair whose agreement the skills in the worker table explain is not named, even if the test flags it.
    flagged = test.flagged[(test.pairs.agreed / n > by_skills)[test.flagged]]
    yield from _clusters(test, answers, flagged)
    for k in flagged.tolist():
        i = int(test.pairs.i[k])
        j = int(test.pairs.j[k])
        shared = int(test.pairs.shared[k])
        agreed = int(test.pairs.agreed[k])
        expected = float(by_skills[k])
        low, high = (float(end) for end in test.expected_range(k))
        yield Finding(
            "agreeing-pair",
            f"{subject(answers.worker_names, (i, j))} give the same answer on {agreed / shared:.0%} of {shared:,} "
            f"shared tasks; their skills alone would give {expected:.0%}",
            float(test.adjusted[k]),
            "adjusted p-value",
            workers=(i, j),
            evidence={
                "shared": shared,
                "agreed": agreed,
                "expected": expected * shared,
                "expected_low": low * shared,
                "expected_high": high * shared,
                "p": float(test.p[k]),
            },
            figures=f"{subject(answers.worker_names, (i, j))}: adjusted p-value {test.adjusted[k]:.2g}; skills as "
            "estimated from all other pairs",
        )


def _expected_by_skills(test: AgreementTest, n_classes: int, shown_skills: FloatArray | None) -> FloatArray:
    """Return the share of agreement that the skills of each pair explain: the skills in the worker table if known."""
    if shown_skills is None:
        return test.expected
    i, j = (np.minimum(codes, len(shown_skills) - 1) for codes in (test.pairs.i, test.pairs.j))
    shown = ((n_classes - 1) * shown_skills[i] * shown_skills[j] + 1) / max(n_classes, 1)
    return np.where(np.isnan(shown), test.expected, shown)


def _clusters(test: AgreementTest, answers: Counted, flagged: IntArray) -> Iterator[Finding]:
    pairs = test.pairs.among(flagged)
    graph = identify_pairs(pairs, answers.n_workers)
    members, inside = (grouped(keys, graph.n_components) for keys in (graph.component, graph.component[pairs.i]))
    clusters = [
        (workers, flagged[pair_codes]) for workers, pair_codes in zip(members, inside, strict=True) if len(workers) > 2
    ]
    for workers, pair_codes in sorted(
        clusters, key=lambda cluster: (-len(cluster[0]), float(test.p[cluster[1]].min()))
    ):
        shared = int(test.pairs.shared[pair_codes].sum())
        agreed = int(test.pairs.agreed[pair_codes].sum())
        expected = float((test.expected[pair_codes] * test.pairs.shared[pair_codes]).sum())
        yield Finding(
            "agreeing-cluster",
            f"{len(workers):,} workers give unusually similar answers in {len(pair_codes):,} pairs: "
            f"{named(answers.worker_names, workers)}. Their answers are not independent",
            float(test.adjusted[pair_codes].min()),
            "smallest adjusted p-value of its pairs",
            workers=tuple(workers.tolist()),
            evidence={"pairs": len(pair_codes), "shared": shared, "agreed": agreed, "expected": expected},
        )


def copying_findings(result: Result, searched: Answers | None = None) -> list[Finding]:
    """Return a finding for each group of workers whose answers are explained by copying one hidden answer.

    The default method searches for such groups in crowds of at most MAX_COPYING_WORKERS workers; in larger ones the
    search runs here and the labels do not use it.

    Args:
        result: of the default method.
        searched: the answers that the search runs on, of the same workers; None: those of the result.

    >>> import quorate
    >>> copying_findings(quorate.aggregate(quorate.simulate.crowd(300, 10, 5, seed=0).answers))
    []
    """
    basis = result.confidence_basis
    if basis is None:
        return []
    names = result.answers.worker_names
    if result.answers.n_workers > MAX_COPYING_WORKERS:
        if basis.families:  # the groups were given, and the search would ignore them
            return []
        groups = search_copying(blocks_of(result.answers if searched is None else searched))
        members = [] if groups is None else copying_members(groups)
    else:
        code_of = {str(name): code for code, name in enumerate(names.to_pylist())}
        members = [_codes(family, code_of) for family in basis.families] if basis.is_detected else []
    return [_finding(group, result) for group in members]


def _codes(family: tuple[str, ...], code_of: dict[str, int]) -> IntArray:
    return np.array([code_of[name] for name in family], dtype=np.int64)


def _finding(members: IntArray, result: Result) -> Finding:
    is_used = result.answers.n_workers <= MAX_COPYING_WORKERS
    consequence = (
        "Their answers have less weight"
        if is_used
        else "Their answers count as independent ones; to change that, name the column of the group with --group"
    )
    codes = tuple(int(code) for code in members)
    return Finding(
        "copying-group",
        f"{copying_text(len(codes), named(result.answers.worker_names, codes))}. {consequence}",
        float(len(codes)),
        "workers",
        workers=codes,
        evidence={"workers": len(codes)},
        figures=f"{len(codes)} workers: the model of copying exceeds independent answers by more than its cost (BIC)",
    )
