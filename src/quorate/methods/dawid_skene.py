"""The method ``dawid-skene``: Dawid and Skene's EM from the majority vote, a confusion matrix per worker [Dawid79].

EM itself is `quorate.models.em.fit_confusion_em`; this module has the method's options and notes.
"""

from quorate.arrays import FloatArray
from quorate.blocks.block import Blocks
from quorate.graph.components import identify
from quorate.methods.fit import ByMatrices, Fitted, fit_notes, worker_estimates_of
from quorate.models.confusion import check_size
from quorate.models.em import ConfusionFit, fit_confusion_em
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import skill_of, weight


def fit(
    blocks: Blocks,
    *,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Fitted:
    """Fit a confusion matrix for each worker and a class for each task, by EM from the vote shares.

    Args:
        blocks: blocks of tasks; the gold that they carry stays fixed.
        max_iterations: maximum number of EM steps; the literature uses ten; more steps rarely help.
        tolerance: stop when the expected counts change by less, on average over answers.
        class_prior: estimate the frequency of each class instead of taking them as equal.
        zeros: zero probabilities count as they are (``exact``) or not at all (``skip``, as in published figures).

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> quorate.aggregate(answers, "dawid-skene").labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    check_size(blocks, "dawid-skene", posterior=False)
    em = fit_confusion_em(
        blocks, class_prior=class_prior, zeros=zeros, max_iterations=max_iterations, tolerance=tolerance
    )
    return fitted_confusion(blocks, em)


def fitted_confusion(blocks: Blocks, em: ConfusionFit) -> Fitted:
    """Return what EM over confusion matrices learned."""
    notes = fit_notes("dawid-skene", em.log_likelihoods, em.converged, blocks.n_answers)
    vote = ByMatrices(em.log_theta, em.log_prior)
    return Fitted(
        vote=vote, skill_estimates=workers_of_em(blocks, em.accuracy), identifiability=identify(blocks), notes=notes
    )


def workers_of_em(blocks: Blocks, accuracy: FloatArray) -> WorkerEstimates:
    """Return skills and weights from each worker's mean accuracy over the classes."""
    m = blocks.n_classes
    if m < 2:
        return worker_estimates_of(blocks.per_worker, None)
    skills = skill_of(accuracy, m)
    return worker_estimates_of(blocks.per_worker, skills, weight(skills, m))
