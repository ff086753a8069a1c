"""The paper's methods by the names that it uses, and their errors on one crowd."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.evaluation.compare import compare
from quorate.io.read_table import Source
from quorate.simulate import Crowd
from quorate.theory.label_bounds import margins

# PGD is the paper's algorithm: projected gradient descent on the signed correlations with a fixed step from a positive
# start, in the box with tau, then the plug-in vote. Applied to |C| and followed by breadth-first signs it is the
# theorem's post-processing, which the paper cannot have used on RTE1 (error above .5). rank-one is our solver of the
# same objective. "KOS" is two methods, and the paper's figures are those of the second (docs/accuracy.md).
PGD = "rank-one:solver=gradient"
POST_PROCESSING = "rank-one:solver=gradient:signs=breadth-first"
POST_PROCESSED = "theorem's post-processing"  # its name in tables
OURS = "rank-one"
RIVALS = {
    "PGD": PGD,
    POST_PROCESSED: POST_PROCESSING,
    OURS: "rank-one",
    "MV": "majority",
    "KOS": "kos",
    "KOS-SVD": "kos-svd",
    "Opt-D&S": "opt-ds",
    "ER": "er",
    "IWMV": "iwmv",
    "M3V": "m3v",
}
PAIRED = ("PGD", POST_PROCESSED, OURS)  # methods that use pairs
BAYES = "true skills"  # the vote with the true skills: the optimum


def errors(answers: Answers, truth: Source, *, seed: int, rivals: dict[str, str] = RIVALS) -> dict[str, float | None]:
    """Return the error of each method, exact ties split evenly; None if it failed."""
    found = compare(answers, truth, methods=list(rivals.values()), seed=seed)
    return {name: entry.error for name, entry in zip(rivals, found.entries, strict=True)}


def vote_error(crowd: Crowd, skills: FloatArray) -> float:
    """Return the error of the vote with these skills, exact ties split evenly.

    >>> from quorate.simulate import crowd
    >>> vote_error(crowd(10, 3, skills=np.full(3, 0.999), seed=0), np.full(3, 0.999))
    0.0
    """
    ahead = margins(crowd.answers, crowd.truth, skills)
    return float((ahead < -1e-9).mean() + (np.abs(ahead) <= 1e-9).mean() / 2)
