"""What a method learned from blocks, and how it predicts the labels of any block."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from quorate.blocks.block import Block
from quorate.calibration.confidence import ConfidenceBasis
from quorate.meetings.graph import Identifiability
from quorate.skills.notes import Note
from quorate.uncertainty.workforce import Workforce
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.vote import Ballot


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Everything of a result but the labels, worker-sized; and the function that predicts those."""

    predict: Callable[[Block], Ballot]  # can be sent to where the blocks are
    workers: Workforce
    identifiability: Identifiability | None
    confusion: ConfusionMatrices | None
    confidence: ConfidenceBasis | None
    notes: tuple[Note, ...]
    ordered_classes: pa.Array | None = None  # the classes, where their order is used
