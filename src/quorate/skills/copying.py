"""Skills of copying workers: by agreement with the workers outside their cluster.

Clusters are found in `calibration/find_copying.py`, fitted in `models/copying.py`, reported in
`diagnostics/copying.py`.

Copies agree with each other at any skill, so agreement inside a cluster is no evidence of skill. The skills of all
other workers are estimated from a crowd in which each cluster answers as one worker. Then the skill of each member of a
cluster is estimated separately, with the workers outside every cluster as its only peers.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.models.copying import majority_of_group
from quorate.skills.centred_score import CentredInference
from quorate.skills.centred_skills import centred_estimates
from quorate.skills.identification import COPYING, IDENTIFIED, identify_workers
from quorate.skills.intervals import PeerError, WorkerScore
from quorate.skills.priors import Priors
from quorate.skills.shrinkage import response_bias
from quorate.skills.weak_identification import WeakIdentification
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import weight


@dataclass(frozen=True)
class ClusteredInference:
    """Skills in a crowd with copying workers, and the scores from which intervals are computed; without gold."""

    skills: FloatArray
    units: CentredInference  # of the crowd in which each cluster answers as one worker
    members: CentredInference  # of all workers, with those outside every cluster as the only peers
    cluster: IntArray  # code of each worker's unit
    is_copying: BoolArray

    @property
    def n_classes(self) -> int:
        """M."""
        return self.members.n_classes

    @property
    def n_answers(self) -> int:
        """Number of answers, as `CentredInference` counts them."""
        return self.members.n_answers

    @property
    def needs_peer_error(self) -> bool:
        """Whether the errors of the peers' skills can matter, as `CentredInference` decides."""
        return self.members.needs_peer_error

    @cached_property
    def _scores(self) -> tuple[WorkerScore, WorkerScore]:
        return self.units.score(), self.members.score()

    def score(self) -> WorkerScore:
        """Return raw estimates and variances: members compared with workers outside, the others with all units."""
        units, members = self._scores
        return WorkerScore(
            self._chosen(units.raw, members.raw),
            self._chosen(units.alpha, members.alpha),
            self._chosen(units.beta, members.beta),
            self._chosen(units.gamma, members.gamma),
        )

    def peer_error(self, *, draws: int, seed: int) -> PeerError:
        """Return the errors of the peers' skills; the peers of members are the workers outside, of others all units."""
        units = self.units.peer_error(draws=draws, seed=seed)
        members = self.members.peer_error(draws=draws, seed=seed)
        return PeerError(
            self._chosen(units.inflation, members.inflation),
            self._chosen(units.relative_variance, members.relative_variance),
        )

    def weak(self, n_workers: int) -> WeakIdentification:
        """Test which units are only weakly identified; members of a cluster have the result of their unit."""
        return self.units.weak(int(self.cluster.max()) + 1).of(self.cluster[:n_workers])

    def scale_range(self) -> tuple[float, float]:
        """Return the least and greatest factor on all skills within the standard error of the class prior."""
        return self.units.scale_range()

    def _chosen(self, of_units: FloatArray, of_workers: FloatArray) -> FloatArray:
        return np.where(self.is_copying, of_workers[: len(self.cluster)], of_units[self.cluster])


def copying_estimates(
    answers: Answers, cluster: IntArray, gold: IntArray | None = None, priors: Priors | None = None
) -> WorkerEstimates | None:
    """Estimate the skills of a crowd with clusters of copying workers; None if no skill is determined.

    The skill of a member is shrunk toward the mean of the independent workers, with the same ridge as theirs. The
    members of a cluster share the weight of one vote.

    Args:
        answers: who answered what.
        cluster: code of each worker's cluster, from 0; a worker who is alone in a cluster is independent.
        gold: the known class of each task, -1 where unknown.
        priors: skills of workers from earlier runs; not used for members of a cluster.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 5, 5, skills=np.array([0.8, 0.7, 0.6, 0.5, 0.1]), seed=0)
    >>> rows = crowd.answer_table.to_pylist()
    >>> copied = [{**row, "worker": f"copy {k}"} for row in rows if row["worker"] == "w4" for k in range(3)]
    >>> columns = {name: [row[name] for row in (*rows, *copied)] for name in ("task", "worker", "label")}
    >>> answers = quorate.read(columns)
    >>> cluster = np.array([0 if str(name) not in ("w0", "w1", "w2", "w3") else int(str(name)[1]) + 1
    ...     for name in answers.worker_names])
    >>> estimates = copying_estimates(answers, cluster)
    >>> bool(estimates.skills[cluster == 0].max() < 0.4)
    True
    """
    size = np.bincount(cluster)
    is_copying: BoolArray = size[cluster] > 1
    first = np.unique(cluster, return_index=True)[1]
    unit_priors = None if priors is None else _unit_priors(priors, first, size)
    units = centred_estimates(identify_workers(majority_of_group(answers, cluster), gold), unit_priors)
    if units.centred is None:
        return None
    inference = units.inference
    identification = identify_workers(answers, gold)
    unit_of_worker = np.append(cluster, np.arange(len(size), len(inference.skills)))  # and gold
    is_copy = np.append(is_copying, np.zeros(len(unit_of_worker) - len(cluster), dtype=bool))
    peers = np.where(is_copy, 0.0, inference.skills[unit_of_worker])
    bias_of_workers = replace(
        response_bias(identification.crowd),
        prior=inference.bias_of_workers.prior,
        spread=inference.bias_of_workers.spread,
    )
    is_free = inference.is_free[unit_of_worker] & ~is_copy
    members = CentredInference(
        identification.crowd, peers, identification.is_gold, is_free, bias_of_workers, inference.ridge
    )

    is_independent = ~is_copying & ~np.isnan(inference.skills[cluster])
    n_answers = np.where(is_independent, answers.per_worker, 0)
    mean = float(n_answers @ np.nan_to_num(inference.skills[cluster]) / max(int(n_answers.sum()), 1))
    by_others = np.clip(members.shrunk_to(mean)[: len(cluster)], -1 / (answers.n_classes - 1), 1.0)
    status = np.where(is_copying, COPYING, units.status[cluster])
    by_unit = np.where(units.status == IDENTIFIED, inference.skills[: len(size)], np.nan)
    skills = np.where(is_copying, by_others, by_unit[cluster])
    return WorkerEstimates(
        skills=skills,
        weights=weight(units.skills, answers.n_classes)[cluster] / size[cluster],
        status=status,
        solution=replace(units.centred.solution, skills=skills),
        inference=ClusteredInference(skills, inference, members, cluster, is_copying),
    )


def _unit_priors(priors: Priors, first: IntArray, size: IntArray) -> Priors:
    """Return the priors of the independent workers, by the codes of the units; other units have none."""
    is_alone = size == 1
    return replace(
        priors,
        skill=np.where(is_alone, priors.skill[first], 0.0),
        precision=np.where(is_alone, priors.precision[first], 0.0),
        anchors=priors.anchors[first] & is_alone,
        right=np.where(is_alone[:, None], priors.right[first], 0.0),
        pseudo_answers=np.where(is_alone, priors.pseudo_answers[first], 0.0),
    )
