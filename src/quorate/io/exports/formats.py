"""The export formats, by name."""

from quorate.io.exports import (
    argilla,
    cleanlab,
    crowdkit,
    deepeval,
    figure8,
    inspect_ai,
    label_studio,
    langfuse,
    lm_eval,
    mlflow,
    mturk,
    openai_batch,
    phoenix,
    prodigy,
    promptfoo,
    toloka,
    zooniverse,
)
from quorate.io.exports.content import Content
from quorate.io.exports.export import Format

# The order is that of the tests and of the lists shown to users.
ANNOTATION_TOOLS = (label_studio, argilla, mturk, toloka, figure8, zooniverse, prodigy, crowdkit, cleanlab)
JUDGE_LOGS = (inspect_ai, promptfoo, lm_eval, deepeval, mlflow, langfuse, phoenix, openai_batch)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in (*ANNOTATION_TOOLS, *JUDGE_LOGS)}
LAST = "cleanlab"  # recognised only by its values, so it is tested if no other format fits


def matching(content: Content) -> list[str]:
    """Return the names of the formats that the content may have.

    >>> from quorate.io.exports.content import look
    >>> matching(look([{"_input_hash": 1, "answer": "accept"}]))
    ['prodigy']
    """
    matches = [name for name, format_ in FORMATS.items() if name != LAST and format_.recognise(content)]
    return matches or [name for name in (LAST,) if FORMATS[name].recognise(content)]
