"""Bounds on the error of estimated skills [Ma20, Theorem 12, pert, and the finite-task bound]."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, starts_of
from quorate.errors import check_delta
from quorate.graph.laplacian import Parts, is_bipartite, signless_laplacian, smallest_of
from quorate.graph.pairs import PairStats
from quorate.io.arguments import check_arguments


@dataclass(frozen=True)
class SkillBound:
    """Bounds on ||x - s||_2 over one component, and the quantities from which they are computed."""

    kappa: float  # least |skill|
    K: float  # greatest |skill|
    delta: float  # probability with which the finite-task bounds may fail
    n_workers: int  # W
    norm: float  # ||N||_inf, the largest row sum
    smallest: float  # lambda_min of the signless Laplacian with unit weights
    smallest_weighted: float  # the same eigenvalue with weights N_ij
    least_shared: int  # N_min, the least number of shared tasks of a pair
    degree_sum: int  # D, twice the number of pairs
    n_classes: int

    @property
    def mu(self) -> float:
        """Constant of strong convexity in the theorem: kappa² lambda_min N_min."""
        return self.kappa**2 * self.smallest * self.least_shared

    def perturbation(self, disturbance: float) -> float:
        """Return a bound on ||x - s||_2 if no correlation has a greater error than this [Ma20, Theorem 12, pert]."""
        if self.mu == 0:
            return float("inf")
        return float(self.K * np.sqrt(self.n_workers) * self.norm / self.mu * disturbance)

    @property
    def paper_disturbance(self) -> float:
        """Greatest error of a correlation with probability 1 - delta, by the paper: log(D/delta) / sqrt(N_min)."""
        return float(np.log(self.degree_sum / self.delta) / np.sqrt(self.least_shared))

    @property
    def hoeffding_disturbance(self) -> float:
        """Greatest error of a correlation by Hoeffding's inequality, which is tighter: a_ijt has the range M/(M-1)."""
        spread = self.n_classes / (self.n_classes - 1)
        return float(spread * np.sqrt(np.log(self.degree_sum / self.delta) / (2 * self.least_shared)))

    @property
    def finite_task(self) -> float:
        """The paper's bound on ||x - s||_2, with probability 1 - delta."""
        return self.perturbation(self.paper_disturbance)

    @property
    def finite_task_hoeffding(self) -> float:
        """Bound on ||x - s||_2 with probability 1 - delta, by Hoeffding's inequality."""
        return self.perturbation(self.hoeffding_disturbance)


@check_arguments
def skill_bound(
    pairs: PairStats,
    n_workers: int,
    n_classes: int,
    skills: FloatArray,
    *,
    delta: float = 0.05,
    bipartite: bool | None = None,
) -> SkillBound:
    """Return the bounds on the error of the skills of one component.

    Args:
        pairs: the pairs of a connected component, with codes of its workers from 0 to W-1.
        n_workers: W.
        n_classes: M.
        skills: of its workers, known or estimated; kappa and K are the least and the greatest in absolute value.
        delta: probability with which the finite-task bounds may fail.
        bipartite: whether the component is bipartite; by default this is determined.

    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [900, 900, 900], [700, 700, 700]]))
    >>> bound = skill_bound(pairs, 3, 2, np.array([0.8, 0.8, 0.7]))
    >>> round(bound.perturbation(0.01), 3), round(bound.finite_task_hoeffding, 2)
    (0.057, 0.58)
    """
    if bipartite is None:
        bipartite = two_sided(pairs, n_workers)
    return skill_bounds(
        Parts.concatenated([n_workers], [pairs]), n_classes, skills, np.array([bipartite]), delta=delta
    )[0]


def two_sided(pairs: PairStats, n_workers: int) -> bool:
    """Return whether a component with these pairs has no odd cycle.

    >>> two_sided(PairStats.linked(np.array([0]), np.array([1])), 2)
    True
    """
    return n_workers == 1 or is_bipartite(signless_laplacian(n_workers, pairs.i, pairs.j))


def skill_bounds(
    parts: Parts, n_classes: int, skills: FloatArray, bipartite: BoolArray, *, delta: float = 0.05
) -> list[SkillBound]:
    """Return `skill_bound` of several components, each with at least one pair.

    >>> pairs = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [900, 900, 900], [700, 700, 700]]))
    >>> two = Parts.concatenated([3, 3], [pairs, pairs])
    >>> bounds = skill_bounds(two, 2, np.array([0.8, 0.8, 0.7, 0.5, 0.4, 0.9]), np.zeros(2, bool))
    >>> [(bound.kappa, bound.K, bound.smallest) for bound in bounds]
    [(0.7, 0.8, 1.0), (0.4, 0.9, 1.0)]
    """
    check_delta(delta)
    pairs = parts.pairs
    first = starts_of(parts.size)[:-1]
    first_pair = starts_of(parts.n_pairs)[:-1]
    size = np.abs(skills)
    unknown = np.isnan(skills)
    weights = pairs.shared.astype(np.float64)
    figures = {
        "kappa": np.minimum.reduceat(np.where(unknown, 1.0, size), first).clip(max=1.0),
        "K": np.maximum.reduceat(np.where(unknown, 0.0, size), first),
        "n_workers": parts.size,
        "norm": np.maximum.reduceat(pairs.by_worker(parts.n_workers, weights), first),
        "smallest": smallest_of(parts, bipartite),
        "smallest_weighted": smallest_of(parts, bipartite, weights),
        "least_shared": np.minimum.reduceat(pairs.shared, first_pair),
        "degree_sum": 2 * parts.n_pairs,
    }
    rows = zip(*(column.tolist() for column in figures.values()), strict=True)
    return [SkillBound(delta=delta, n_classes=n_classes, **dict(zip(figures, row, strict=True))) for row in rows]
