"""The method ``one-coin``: one accuracy per worker, wrong classes being equally likely [Dawid79].

EM itself is `quorate.models.one_coin.fit_one_coin_em`; this module has the method's options.
"""

from quorate.blocks.block import Blocks
from quorate.methods.dawid_skene import fitted_em
from quorate.methods.fit import Fitted
from quorate.models.one_coin import fit_one_coin_em


def fit(
    blocks: Blocks,
    *,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Fitted:
    """Fit one accuracy for each worker, wrong classes being equally likely, by EM from the vote shares.

    Args:
        blocks: blocks of tasks; the gold that they carry stays fixed.
        max_iterations: maximum number of EM steps; the literature uses ten; more steps rarely help.
        tolerance: stop when the expected counts change by less, on average over answers.
        class_prior: estimate the frequency of each class instead of taking them as equal.
        zeros: zero probabilities count as they are (``exact``) or not at all (``skip``, as in published figures).

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> quorate.aggregate(answers, "one-coin").labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    em = fit_one_coin_em(
        blocks, class_prior=class_prior, zeros=zeros, max_iterations=max_iterations, tolerance=tolerance
    )
    return fitted_em("one-coin", blocks, em)
