"""More than one factor: skilled workers who agree among themselves more than one skill a worker explains."""

from quorate.calibration.confidence import advised_labels
from quorate.diagnosis.finding import Finding
from quorate.skills.notes import LOW_TRUST


def factor_findings(trust: float, n_tasks: int) -> list[Finding]:
    """Tell that one factor does not explain who agrees with whom on so many tasks, by `quorate.skills.trust`.

    >>> factor_findings(1.0, 90), factor_findings(0.4, 90)[0].kind
    ([], 'several-factors')
    """
    if trust >= LOW_TRUST:
        return []
    n = advised_labels(n_tasks)
    return [
        Finding(
            "several-factors",
            "some skilled workers agree among themselves more than their skills explain: a group may copy or share a "
            "bias. The default method leans towards the plain vote there; only known labels tell who is right"
            + (f" (quorate advise --expert {n})" if n else ""),
            trust,
            "trust, from 0 to 1; low is bad",
            evidence={"trust": trust, "least_trusted": LOW_TRUST},
            figures=f"trust {trust:.2f}, of 1: more than one factor explains who agrees with whom",
        )
    ]
