"""What the interaction graph does not determine, and what it determines only by a thread."""

from collections.abc import Iterator, Sequence

import numpy as np

from quorate.diagnosis.components import PartPairs
from quorate.diagnosis.finding import Finding
from quorate.diagnosis.identification import identification_findings
from quorate.diagnosis.ties import tie_findings
from quorate.result import Result


def graph_findings(result: Result, everyone: Sequence[PartPairs]) -> Iterator[Finding]:
    """Tell what the interaction graph does not determine, and which groups of it hang on a few shared tasks.

    Args:
        result: of rank-one, wherever the answers lie.
        everyone: its components with their pairs.

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
    for each in everyone:
        gold = np.flatnonzero(each.members >= result.roster.n_workers)
        if each.pairs is not None and each.part.identifiable and not each.part.bipartite:
            anchor = int(gold[0]) if len(gold) else None
            yield from tie_findings(each.pairs, each.members, result.roster, anchor=anchor)
