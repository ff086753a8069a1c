"""What the interaction graph does not determine, and what it determines only by a thread."""

from collections.abc import Iterator, Sequence

from quorate.answers import Answers
from quorate.diagnosis.components import PartPairs
from quorate.diagnosis.finding import Finding
from quorate.diagnosis.identification import identification_findings
from quorate.diagnosis.loose import tie_findings
from quorate.result import Result


def graph_findings(result: Result, everyone: Sequence[PartPairs], crowd: Answers | None = None) -> Iterator[Finding]:
    """Tell what the interaction graph does not determine, and which groups of it hang on a few shared tasks.

    Args:
        result: of rank-one, wherever the answers lie.
        everyone: its components with their pairs.
        crowd: who answered what, the known labels as one more worker; None where only counts are at hand.

    >>> import quorate
    >>> from quorate.diagnosis.components import parts
    >>> from quorate.meetings.pairs import pair_stats
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result = quorate.aggregate(answers, "rank-one")
    >>> everyone = list(parts(result.identifiability, pair_stats(answers), complete=True))
    >>> [finding.kind for finding in graph_findings(result, everyone)]
    ['cannot-be-judged', 'cannot-be-judged']
    """
    yield from identification_findings(result, (each.part for each in everyone))
    yield from tie_findings(everyone, result.identifiability, crowd, result.roster)
