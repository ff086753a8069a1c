"""Every format by its name."""

from quorate.reading.formats import (
    argilla,
    cleanlab,
    crowdkit,
    deepeval,
    figure8,
    inspect_logs,
    labelstudio,
    langfuse,
    lm_eval,
    mlflow_traces,
    mturk,
    openai_lines,
    phoenix,
    prodigy,
    promptfoo,
    toloka,
    zooniverse,
)
from quorate.reading.formats.content import Content
from quorate.reading.formats.export import Format

# In the order in which they are told.
PEOPLE = (labelstudio, argilla, mturk, toloka, figure8, zooniverse, prodigy, crowdkit, cleanlab)
JUDGES = (inspect_logs, promptfoo, lm_eval, deepeval, mlflow_traces, langfuse, phoenix, openai_lines)
FORMATS: dict[str, Format] = {each.FORMAT.name: each.FORMAT for each in (*PEOPLE, *JUDGES)}
LAST = "cleanlab"  # known by its values only, so looked for when nothing else fits


def matching(content: Content) -> list[str]:
    """Name the formats that the content may be.

    >>> from quorate.reading.formats.content import look
    >>> matching(look([{"_input_hash": 1, "answer": "accept"}]))
    ['prodigy']
    """
    found = [name for name, each in FORMATS.items() if name != LAST and each.recognise(content)]
    return found or [name for name in (LAST,) if FORMATS[name].recognise(content)]
