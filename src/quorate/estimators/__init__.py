"""crowd-kit's classes over Quorate's methods: change the import line, and the rest of a script stays as it is.

`fit`, `fit_predict`, `fit_predict_proba`, `labels_`, `probas_` and `skills_` have the names, index names and order that
crowd-kit 1.4 gives them, and `skills_` the scale that its class has (docs/coming-from-crowd-kit.md lists them); in
classes that crowd-kit has not, or gives no skills, it is the skill: 1 always right, 0 guessing, below 0 worse than
guessing. `accuracies_` is the probability of the right class, `weights_` what a vote counted, `result_` the whole
`Result`. Needs pandas: pip install 'quorate[pandas]'.

>>> import pandas
>>> data = pandas.DataFrame({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")})
>>> Quorate().fit_predict(data).to_dict()
{1: 'x', 2: 'x'}
"""

from quorate.estimators.absent import absent as _absent
from quorate.estimators.binary_relevance import BinaryRelevance
from quorate.estimators.by_expectation import GLAD, MACE, DawidSkene, OneCoinDawidSkene
from quorate.estimators.counterparts import KOS, MMSR, GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill
from quorate.estimators.estimator import Estimator
from quorate.estimators.ours import (
    IWMV,
    KOSSVD,
    M3V,
    M3VSVM,
    EigenRatio,
    GhoshSVD,
    OptDS,
    Quorate,
    RankOne,
    RankOneCentred,
)
from quorate.estimators.pairwise import BradleyTerry, NoisyBradleyTerry

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
    "Wawa",
    "ZeroBasedSkill",
]


def __getattr__(name: str) -> object:
    raise _absent(name)
