"""Language models without known labels, in the result of a method that does not allow for them."""

from dataclasses import replace

import numpy as np

from quorate.arrays import FloatArray
from quorate.io.model_names import models_of
from quorate.notes import unchecked_models
from quorate.result import Result


def with_unchecked_models(result: Result) -> Result:
    """Add a warning and the column ``agreement`` to the result of a method that does not allow for language models.

    The default method has a calibration law for them; the posterior of the others is too high where models share
    mistakes. Without known labels, the accuracy of a model does not follow from its agreement with the labels.

    >>> import quorate
    >>> rows = {"task": [1, 1, 2, 2], "worker": ["gpt-4o", "claude-3-opus"] * 2, "label": list("xxxy")}
    >>> "agreement" in quorate.aggregate(rows, "dawid-skene").workers.column_names
    True
    """
    answers = result.answers
    models = models_of(answers, answers.judges)
    if models is None:
        return result
    notes = unchecked_models(answers, f", and the method {result.method} does not allow for it")
    is_equal = (answers.label == result.vote.label[answers.task]).astype(np.float64)
    n = answers.per_worker
    share: FloatArray = np.divide(answers.by_worker(is_equal), n, out=np.full(answers.n_workers, np.nan), where=n > 0)
    agreement = np.where(models.is_model, share, np.nan)
    estimates = replace(result.skill_estimates, agreement=agreement)
    return replace(result, skill_estimates=estimates, notes=(*notes, *result.notes))
