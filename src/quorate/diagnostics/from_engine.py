"""diagnose() for answers in an engine: all answers if they are few, else a sample of whole tasks."""

from typing import Any

from quorate.backends.source import (
    ENGINE_OPTION_NAMES,
    READING_OPTION_NAMES,
    find_answers,
    read_into_memory,
    split_options,
)
from quorate.diagnostics.diagnose import Diagnosis
from quorate.diagnostics.diagnose import diagnose as diagnose_here
from quorate.errors import refuse_unknown_options
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source


@keep_pipes()
def diagnose(source: Source = None, *, gold: Source = None, delta: float = 0.05, **options: Any) -> Diagnosis:
    """Find the problems of answers in an engine, and what they do not determine.

    If there are too many answers for memory, a sample of whole tasks is diagnosed, chosen by a hash of the task ids.

    Args:
        source: as `quorate.backends.aggregate`.
        gold: known labels of some tasks.
        delta: the probability with which the finite-task bounds may fail.
        options: where the answers are and how to read them, as `quorate.backends.aggregate`.

    >>> result = diagnose({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result.repair.n_answers, [finding.kind for finding in result.findings]
    (1, ['cannot-be-judged', 'cannot-be-judged'])
    """
    reading, engine_options, unknown_options = split_options(options)
    refuse_unknown_options(unknown_options, (*READING_OPTION_NAMES, *ENGINE_OPTION_NAMES))
    engine_source = find_answers(source, reading, engine_options)
    try:
        return diagnose_here(read_into_memory(engine_source, sample=True), gold=gold, delta=delta)
    finally:
        engine_source.engine.close()
