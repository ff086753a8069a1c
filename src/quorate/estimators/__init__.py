"""crowd-kit's classes over Quorate's methods: change the import line, and the rest of a script stays as it is.

`fit`, `fit_predict`, `fit_predict_proba`, `labels_`, `probas_` and `skills_` have the names, index names and order that
crowd-kit 1.4 gives them. What the numbers mean is Quorate's: `skills_` holds skills (1 always right, 0 guessing, below
0 worse than guessing), `accuracies_` the probability of the right class, `weights_` what a vote counted; `result_` is
the whole `Result`. Needs pandas: pip install 'quorate[pandas]'.

>>> import pandas
>>> data = pandas.DataFrame({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")})
>>> Quorate().fit_predict(data).to_dict()
{1: 'x', 2: 'x'}
"""

from quorate.estimators.counterparts import (
    IWMV,
    KOS,
    MMSR,
    DawidSkene,
    MajorityVote,
    OneCoinDawidSkene,
    Wawa,
)
from quorate.estimators.estimator import Estimator
from quorate.estimators.ours import (
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

__all__ = [
    "IWMV",
    "KOS",
    "KOSSVD",
    "M3V",
    "M3VSVM",
    "MMSR",
    "DawidSkene",
    "EigenRatio",
    "Estimator",
    "GhoshSVD",
    "MajorityVote",
    "OneCoinDawidSkene",
    "OptDS",
    "Quorate",
    "RankOne",
    "RankOneCentred",
    "Wawa",
]
