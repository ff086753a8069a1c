"""Classes with crowd-kit's names and interface, which run Quorate's methods.

Change the import line of a script that uses crowd-kit; the rest of it stays as it is.
`fit`, `fit_predict`, `fit_predict_proba`, `labels_`, `probas_` and `skills_` have the names, index names and order that
crowd-kit 1.4 gives them, and `skills_` the scale that its class has (docs/coming-from-crowd-kit.md lists them); for
classes that crowd-kit does not have, or that have no skills there, it is the skill: 1 always right, 0 guessing, below 0
worse than guessing. `accuracies_` is the probability of the right class, `weights_` the weight of a vote, `result_` the
whole `Result`. Needs pandas: pip install 'quorate[pandas]'.

>>> import pandas
>>> data = pandas.DataFrame({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")})
>>> Quorate().fit_predict(data).to_dict()
{1: 'x', 2: 'x'}
"""

from quorate.errors import QuorateError
from quorate.estimators.base import Estimator
from quorate.estimators.em import GLAD, MACE, DawidSkene, OneCoinDawidSkene
from quorate.estimators.multilabel import BinaryRelevance
from quorate.estimators.pairwise import BradleyTerry, NoisyBradleyTerry
from quorate.estimators.ratings import RaterModel
from quorate.estimators.votes import (
    IWMV,
    KOS,
    KOSSVD,
    M3V,
    M3VSVM,
    MMSR,
    EigenRatio,
    GhoshSVD,
    GoldMajorityVote,
    MajorityVote,
    OptDS,
    Quorate,
    RankOne,
    RankOneCentred,
    Wawa,
    ZeroBasedSkill,
)

TEXTS = "Quorate is for answers that are classes; keep crowd-kit for texts, or make classes of them"
PLANES = "Quorate is for answers that are classes; keep crowd-kit for segmentations"
VECTORS = "Quorate is for answers that are classes; keep crowd-kit for embeddings"
INSTEAD = {
    **dict.fromkeys(["ROVER", "TextRASA", "TextHRRASA"], TEXTS),
    **dict.fromkeys(["SegmentationEM", "SegmentationMajorityVote", "SegmentationRASA"], PLANES),
    **dict.fromkeys(["ClosestToAverage", "RASA", "HRRASA"], VECTORS),
}


class AbsentClassError(QuorateError, ImportError):
    """crowd-kit has a class of this name, and this package does not."""


def absent(name: str) -> Exception:
    """Return the error for a name that does not exist here, with the replacement if crowd-kit has the name.

    >>> print(absent("RASA"))
    crowd-kit's RASA is not here: Quorate is for answers that are classes; keep crowd-kit for embeddings
    >>> print(absent("Nonsense"))
    module 'quorate.estimators' has no attribute 'Nonsense'
    """
    if name in INSTEAD:
        return AbsentClassError(f"crowd-kit's {name} is not here: {INSTEAD[name]}")
    return AttributeError(f"module 'quorate.estimators' has no attribute {name!r}")


__all__ = [
    "GLAD",
    "IWMV",
    "KOS",
    "KOSSVD",
    "M3V",
    "M3VSVM",
    "MACE",
    "MMSR",
    "BinaryRelevance",
    "BradleyTerry",
    "DawidSkene",
    "EigenRatio",
    "Estimator",
    "GhoshSVD",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "OptDS",
    "Quorate",
    "RankOne",
    "RankOneCentred",
    "RaterModel",
    "Wawa",
    "ZeroBasedSkill",
]


def __getattr__(name: str) -> object:
    raise absent(name)
