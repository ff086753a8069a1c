"""Claims of the paper's caption and text on clique, star and ring, compared with our figures for each reading."""

import numpy as np

from experiments.paper.readings import READINGS, SHORT
from experiments.paper.rivals import BAYES, RIVALS
from experiments.runner.experiment import Claim, Spread, Tabulation, verdict

CLIQUE = "clique"
STAR = "star with a 3-cycle"
RING = "ring"
ANEW = "anew in each trial"
DESCENDING = "in descending order"
GUESSER = "a near-guesser first"
# The caption's standard deviations: graph -> tasks -> MV, KOS, Opt-D&S, PGD, ER, IWMV, M3V.
CAPTION = {
    CLIQUE: {11: (0.09, 0.10, 0.14, 0.14, 0.19, 0.09, 0.09), 330: (0.02, 0.01, 0.017, 0.014, 0.012, 0.013, 0.018)},
    STAR: {11: (0.09, 0.13, 0.13, 0.06, 0.13, 0.09, 0.07), 330: (0.016, 0.015, 0.013, 0.012, 0.04, 0.03, 0.013)},
    RING: {11: (0.096, 0.05, 0.08, 0.1, 0.11, 0.09, 0.08), 330: (0.017, 0.05, 0.02, 0.043, 0.05, 0.086, 0.05)},
}
CAPTION_ORDER = ("MV", "KOS", "Opt-D&S", "PGD", "ER", "IWMV", "M3V")

Results = dict[tuple[str, str, str, int, str], Spread]  # (reading, graph, placement, tasks, method)


def placed_on(graph: str) -> tuple[str, ...]:
    """Return the placements that were run on a graph; on a clique all are equivalent."""
    return (ANEW,) if graph == CLIQUE else (ANEW, DESCENDING, GUESSER)


def caption_fit(results: Results, ends: tuple[int, int]) -> Tabulation:
    """Return a table of the deviations in the caption and of ours."""
    rows = []
    for graph, at in CAPTION.items():
        for place, paper in zip(ends, at.values(), strict=True):
            for name, printed in zip(CAPTION_ORDER, paper, strict=True):
                ours = [
                    results[reading, graph, placed if placed in placed_on(graph) else ANEW, place, name].deviation
                    for reading in READINGS
                    for placed in (ANEW, DESCENDING)
                ]
                rows.append((graph, place, name, printed, *ours))
    columns = (
        "graph", "tasks", "method", "paper",
        *(f"{SHORT[reading]}; {placed}" for reading in READINGS for placed in (ANEW, DESCENDING)),
    )  # fmt: skip
    return Tabulation("Standard deviations of the caption", columns, tuple(rows))


def fitting(results: Results, ends: tuple[int, int]) -> Tabulation:
    """Return a table of the reading and placement nearest to the caption, for each graph."""
    rows = []
    for graph, at in CAPTION.items():
        for place, paper in zip(ends, at.values(), strict=True):
            gaps = {}
            for reading in READINGS:
                for placed in placed_on(graph):
                    ours = [results[reading, graph, placed, place, name].deviation or 0.0 for name in CAPTION_ORDER]
                    apart = np.abs(np.subtract(ours, paper))
                    gaps[reading, placed] = (float(apart.mean()), float(apart[CAPTION_ORDER.index("PGD")]))
            for k, what in enumerate(("all seven", "PGD")):
                best = min((gap[k], case) for case, gap in gaps.items())[1]
                worst = max(gap[k] for gap in gaps.values())
                rows.append((graph, place, what, SHORT[best[0]], best[1], gaps[best][k], worst))
    columns = ("graph", "tasks", "whose deviations", "nearest reading", "placement", "mean gap", "the farthest's gap")
    return Tabulation("Which reading fits the caption where", columns, tuple(rows))


def claims_of(results: Results, ends: tuple[int, int]) -> tuple[Claim, ...]:
    """Return the paper's claims with verdicts, for each reading."""
    return tuple(claim for reading in READINGS for claim in _claims(results, ends, reading))


def _claims(results: Results, ends: tuple[int, int], reading: str) -> tuple[Claim, ...]:
    first, last = ends
    cases = [(graph, placed) for graph in CAPTION for placed in placed_on(graph) if placed != GUESSER]

    def mean(case: tuple[str, str], n: int, name: str) -> float:
        return results[reading, *case, n, name].mean or 0.0

    def deviation(case: tuple[str, str], n: int, name: str) -> float:
        return results[reading, *case, n, name].deviation or 0.0

    def case_text(case: tuple[str, str]) -> str:
        return case[0] if case[0] == CLIQUE else f"{case[0]}, {case[1]}"

    falls = {case: (mean(case, first, "PGD"), mean(case, last, "PGD")) for case in cases}
    shrinks = [deviation(c, first, name) > deviation(c, last, name) for c in cases for name in RIVALS]
    gaps = {case: mean(case, last, "Opt-D&S") - mean(case, last, "PGD") for case in cases}
    above = {case: mean(case, last, "PGD") - mean(case, last, BAYES) for case in cases}
    best = {case: min((mean(case, last, name), name) for name in RIVALS)[1] for case in cases}
    where = f" ({SHORT[reading]})"
    return (
        Claim(
            f"As the number of tasks grows, the error of PGD falls{where}.",
            verdict(*(after < before - 0.01 for before, after in falls.values())),
            "; ".join(
                f"{case_text(case)}: {one:.3f} at {first}, {two:.3f} at {last}" for case, (one, two) in falls.items()
            ),
        ),
        Claim(
            f"Standard deviations decrease with growing number of tasks{where}.",
            verdict(*shrinks),
            f"in {sum(shrinks)} of {len(shrinks)} pairs of case and method",
        ),
        Claim(
            f"Opt-D&S is close to PGD on the clique and degrades significantly on the ring{where}.",
            verdict(abs(gaps[CLIQUE, ANEW]) < 0.02, *(gaps[RING, placed] > 0.02 for placed in (ANEW, DESCENDING))),
            f"Opt-D&S less PGD at {last}: " + ", ".join(f"{case_text(case)} {gap:+.3f}" for case, gap in gaps.items()),
        ),
        Claim(
            f"PGD is robust to sparsity and graph type{where}.",
            verdict(*(gap < 0.03 for gap in above.values())),
            "PGD above the vote with the true skills: "
            + ", ".join(f"{case_text(case)} {gap:+.3f} (least error: {best[case]})" for case, gap in above.items()),
        ),
    )
