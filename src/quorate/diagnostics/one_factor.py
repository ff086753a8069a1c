"""Agreement between workers that one skill per worker does not explain: shared errors of more than one kind."""

from quorate.diagnostics.finding import Finding
from quorate.notes import LOW_ONE_FACTOR_FIT, shared_bias_text


def factor_findings(one_factor_weight: float, n_labels: int) -> list[Finding]:
    """Return one finding if the one-factor weight is low: one skill per worker does not explain the agreement.

    Args:
        one_factor_weight: from 0 to 1.
        n_labels: number of tasks that an expert should label; 0 if too few are left.

    >>> factor_findings(1.0, 90), factor_findings(0.4, 90)[0].kind
    ([], 'several-factors')
    """
    if one_factor_weight >= LOW_ONE_FACTOR_FIT:
        return []
    return [
        Finding(
            "several-factors",
            shared_bias_text(n_labels),
            one_factor_weight,
            "trust, from 0 to 1; low is bad",
            evidence={"trust": one_factor_weight, "least_trusted": LOW_ONE_FACTOR_FIT},
            figures=f"one-factor weight {one_factor_weight:.2f}, from 0 to 1: more than one factor explains who agrees "
            "with whom",
        )
    ]
