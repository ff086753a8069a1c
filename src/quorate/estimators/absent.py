"""The classes that crowd-kit has and this package has not, and what to take instead."""

from quorate.errors import QuorateError

TEXTS = "Quorate is for answers that are classes; keep crowd-kit for texts, or make classes of them"
PLANES = "Quorate is for answers that are classes; keep crowd-kit for segmentations"
VECTORS = "Quorate is for answers that are classes; keep crowd-kit for embeddings"
INSTEAD = {
    **dict.fromkeys(["ROVER", "TextRASA", "TextHRRASA"], TEXTS),
    **dict.fromkeys(["SegmentationEM", "SegmentationMajorityVote", "SegmentationRASA"], PLANES),
    **dict.fromkeys(["ClosestToAverage", "RASA", "HRRASA"], VECTORS),
}


class AbsentClassError(QuorateError, ImportError):
    """crowd-kit has a class of this name, and this package has not."""


def absent(name: str) -> Exception:
    """Return the error for a name that is not here: with what to take instead, where crowd-kit has it.

    >>> print(absent("RASA"))
    crowd-kit's RASA is not here: Quorate is for answers that are classes; keep crowd-kit for embeddings
    >>> print(absent("Nonsense"))
    module 'quorate.estimators' has no attribute 'Nonsense'
    """
    if name in INSTEAD:
        return AbsentClassError(f"crowd-kit's {name} is not here: {INSTEAD[name]}")
    return AttributeError(f"module 'quorate.estimators' has no attribute {name!r}")
