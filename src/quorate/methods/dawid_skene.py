"""The method ``dawid-skene``: Dawid and Skene's EM from the majority vote, a confusion matrix per worker [Dawid79].

EM itself is `quorate.models.em.fit_confusion_em`; this module has the method's options and notes.
"""

from quorate.blocks.block import Blocks
from quorate.graph.components import identify
from quorate.methods.fit import ByModel, Fitted, fit_notes, worker_estimates_of
from quorate.models.confusion import check_size
from quorate.models.em import ConfusionFit, fit_confusion_em
from quorate.models.one_coin import OneCoinFit
from quorate.models.scorer import MatrixScorer
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
    return fitted_em("dawid-skene", blocks, em)


def fitted_em(method: str, blocks: Blocks, em: ConfusionFit | OneCoinFit) -> Fitted:
    """Return the fit by EM; skills and weights are those of each worker's mean accuracy over the classes."""
    m = blocks.n_classes
    workers = worker_estimates_of(blocks.per_worker, None)
    if m > 1:
        skills = skill_of(em.accuracy, m)
        workers = worker_estimates_of(blocks.per_worker, skills, weight(skills, m))
    # Logarithms only: the vote needs no probabilities, and may be sent to other machines.
    model = MatrixScorer(em.log_theta, em.log_prior) if isinstance(em, ConfusionFit) else em
    return Fitted(
        vote=ByModel(model),
        skill_estimates=workers,
        identifiability=identify(blocks),
        notes=fit_notes(method, em.log_likelihoods, em.converged, blocks.n_answers),
    )
