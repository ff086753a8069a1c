"""A pandas.DataFrame of soft labels with a method for the weights of its tasks; it needs pandas at import."""

from typing import Any

import pandas as pd

from quorate.arrays import FloatArray
from quorate.voting.soft_labels import training_weights


class SoftLabelFrame(pd.DataFrame):  # type: ignore[misc]  # pandas has no types here
    """Soft labels, tasks × classes; selections from it are plain data frames without `weights`."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def weights(self) -> Any:
        """Return one weight per task for training on hard labels: 1 for a certain label, 0 for one at chance."""
        values: FloatArray = training_weights(self.to_numpy())
        return pd.Series(values, index=self.index, name="weight")
