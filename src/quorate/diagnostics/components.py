"""Each component of the interaction graph: whether it is identifiable, why, and bounds on the error of its skills."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray, starts_of
from quorate.graph.components import Component, Identifiability
from quorate.graph.laplacian import Parts
from quorate.graph.pairs import PairStats, pair_stats, too_many_pairs
from quorate.result import Result
from quorate.theory.skill_bounds import SkillBound, skill_bounds, two_sided
from quorate.theory.tasks_needed import SkillErrorBound, pair_errors

TARGET_SKILL_ERROR = 0.05  # error of a skill: half of the smallest difference of skill that should separate two workers


@dataclass(frozen=True)
class ComponentFinding:
    """One component: whether it is identifiable, why, and bounds on the error of its skills."""

    component: Component
    n_pairs: int | None  # None if there were too many to count
    bound: SkillBound | None  # None for a worker alone, for one class, and if the pairs were not counted
    error: SkillErrorBound | None = None  # error to expect of its skills; None if `bound` is None

    def bound_dict(self) -> dict[str, float | None] | None:
        """Return the figures of the bound by name; None instead of figures that are not finite."""
        bound = self.bound
        if bound is None:
            return None
        figures = {
            "kappa": bound.kappa,
            "K": bound.K,
            "delta": bound.delta,
            "mu": bound.mu,
            "per_unit_of_disturbance": bound.perturbation(1.0),
            "finite_task": bound.finite_task,
            "finite_task_hoeffding": bound.finite_task_hoeffding,
            **({} if self.error is None else {"per_pair": self.error.bound, "expected": self.error.expected}),
            **({} if self.error is None else {"small_enough": float(self.error.small_enough)}),
        }
        return {name: value if math.isfinite(value) else None for name, value in figures.items()}


@dataclass(frozen=True)
class PartPairs:
    """The pairs of one component; their codes are indices into its members."""

    part: Component
    members: IntArray  # worker codes, with gold's code last if gold belongs to the component
    pairs: PairStats | None  # None if there were too many to count

    @property
    def n_codes(self) -> int:
        """How many members there are."""
        return len(self.members)


def counted_pairs(
    crowd: Answers, identifiability: Identifiability, *, is_large: bool = False
) -> tuple[PairStats, str | None]:
    """Return the pairs, and the reason if those of some components are left out (None if all are counted).

    If there are too many pairs, only those of bipartite components are counted: these are few, because no task of a
    bipartite component has three workers.

    Args:
        crowd: who answered what.
        identifiability: its components.
        is_large: whether there are too many answers for a table of all pairs.

    >>> import quorate
    >>> from quorate.graph.components import identify
    >>> answers = quorate.simulate.crowd(20, 5, 3).answers
    >>> pairs, reason = counted_pairs(answers, identify(answers))
    >>> len(pairs), reason
    (10, None)
    """
    reason = f"there are {crowd.n_answers:,} answers" if is_large else too_many_pairs(crowd)
    if reason is None:
        return pair_stats(crowd), None
    return pair_stats(crowd.where(identifiability.bipartite[identifiability.component[crowd.worker]])), reason


def parts(
    identifiability: Identifiability, pairs: PairStats, *, complete: bool, components: Iterable[Component] | None = None
) -> Iterator[PartPairs]:
    """Yield every component with its pairs, the largest first.

    Args:
        identifiability: the components.
        pairs: of all workers, or of those of bipartite components.
        complete: whether ``pairs`` has the pairs of all workers.
        components: with their witnesses; None: ``identifiability.components()``.

    >>> import quorate
    >>> from quorate.graph.components import identify
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result = parts(identify(answers), pair_stats(answers), complete=True)
    >>> [(part.n_codes, len(part.pairs)) for part in result]
    [(2, 1), (1, 0)]
    """
    index = _index_in_component(identifiability.component, identifiability.n_components)
    component_of_pair = identifiability.component[pairs.i]
    sorted_pairs = pairs.among(np.argsort(component_of_pair, kind="stable"))
    i = index[sorted_pairs.i]
    j = index[sorted_pairs.j]
    starts = starts_of(np.bincount(component_of_pair, minlength=identifiability.n_components)).tolist()
    witnessed = identifiability.components() if components is None else components
    for part, start, stop in zip(witnessed, starts[:-1], starts[1:], strict=True):
        part_pairs = None
        if complete or part.bipartite:
            rows = slice(start, stop)
            part_pairs = PairStats(i[rows], j[rows], sorted_pairs.shared[rows], sorted_pairs.agreed[rows])
        yield PartPairs(part, part.workers, part_pairs)


def _index_in_component(component: IntArray, n_components: int) -> IntArray:
    """Return the index of each worker in its component, from zero."""
    order = np.argsort(component, kind="stable")
    index = np.empty_like(order)
    index[order] = np.arange(len(order)) - starts_of(np.bincount(component, minlength=n_components))[component[order]]
    return index


def examine(all_parts: Sequence[PartPairs], result: Result, delta: float) -> list[ComponentFinding]:
    """Return each component with bounds on the error of its workers' skills; pairs with gold are left out.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(30, 3, 3).answers, "rank-one")
    >>> everyone = list(parts(result.identifiability, pair_stats(result.answers), complete=True))
    >>> [finding.bound.least_shared for finding in examine(everyone, result, 0.05)]
    [30]
    """
    n = result.info.n_workers
    m = result.info.n_classes
    bounded = []  # indices of the components that have pairs without gold: there are bounds for these
    pairs_of_part = []  # these pairs
    findings = []
    for part in all_parts:
        pairs = part.pairs if part.pairs is None or part.members[-1] < n else without(part.pairs, part.n_codes - 1)
        findings.append(ComponentFinding(part.part, None if pairs is None else len(pairs), None))
        if pairs is not None and len(pairs) and m > 1:
            bounded.append(len(findings) - 1)
            pairs_of_part.append(pairs)
    if not bounded:
        return findings
    members = [all_parts[k].members for k in bounded]
    workers = [codes if codes[-1] < n else codes[:-1] for codes in members]
    batch = Parts.concatenated([len(codes) for codes in workers], pairs_of_part)
    all_workers = np.concatenate(workers)
    # The component may be bipartite without the pairs of gold, although it is not with them.
    bipartite = np.array(
        [
            all_parts[k].part.bipartite if pairs is all_parts[k].pairs else two_sided(pairs, len(codes))
            for k, pairs, codes in zip(bounded, pairs_of_part, workers, strict=True)
        ]
    )
    errors = pair_errors(batch, m, result.skills[all_workers], result.info.per_worker[all_workers], delta=delta)
    bounds = skill_bounds(batch, m, result.skills[all_workers], bipartite, delta=delta)
    for k, bound, error in zip(bounded, bounds, errors, strict=True):
        findings[k] = ComponentFinding(findings[k].component, findings[k].n_pairs, bound, error)
    return findings


def without(pairs: PairStats, first_left_out: int) -> PairStats:
    """Return the pairs of workers whose codes are below ``first_left_out``.

    >>> import numpy as np
    >>> len(without(PairStats(*np.array([[0, 0], [1, 2], [5, 5], [4, 4]])), 2))
    1
    """
    is_included = pairs.j < first_left_out
    if is_included.all():
        return pairs
    return pairs.among(is_included)


def component_row(number: int, finding: ComponentFinding, names: list[str], n_tasks: int) -> list[Any]:
    """Return one row of the table of components; the names are those of its witness.

    The last two figures are the expected error of a skill, and the number of further tasks, answered in the same way,
    that an error of TARGET_SKILL_ERROR needs.

    >>> import numpy as np
    >>> from quorate.graph.components import identify_pairs
    >>> alone = next(identify_pairs(PairStats(*np.zeros((4, 0), np.int64)), n_workers=1).components())
    >>> component_row(0, ComponentFinding(alone, 0, None), ["ann"], 9)[:5]
    [0, 1, 0, 'alone', 'one side: ann']
    """
    part = finding.component
    bound = finding.bound
    witness = " – ".join([*names, names[0]]) if part.odd_cycle else f"one side: {', '.join(names)}"
    if part.identifiable:
        verdict = "identifiable"
    elif finding.n_pairs == 0:
        verdict = "alone"
    else:
        verdict = "bipartite"
    row = [number, len(part.workers), finding.n_pairs, verdict, witness]
    if bound is None:
        return [*row, *[None] * 6]
    error = finding.error
    expected_error = None
    if error is not None and not math.isnan(error.expected):
        expected_error = error.expected
    needed = None if error is None else error.tasks_needed(n_tasks, TARGET_SKILL_ERROR)
    return [*row, bound.smallest, bound.least_shared, bound.kappa, bound.K, expected_error, needed]
