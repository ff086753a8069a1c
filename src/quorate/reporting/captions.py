"""What stands under the charts: what they show, and what of a large crowd they leave out."""

import numpy as np

from quorate.reporting.charts.agreement_chart import MOST_IN_MAP
from quorate.reporting.charts.graph_chart import MOST_EDGES, MOST_WORKERS
from quorate.reporting.charts.skill_chart import DRAWN
from quorate.result import Result


def captions(result: Result, sure: float, *, has_copying: bool = False) -> dict[str, str]:
    """Return the caption of each chart.

    Args:
        result: what was aggregated.
        sure: below this, a task needs more answers.
        has_copying: whether the graph marks pairs.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(100, 5, 3).answers)
    >>> captions(result, 0.9)["confidence"]
    'Tasks by how sure their label is. Below 90%, ask for more answers.'
    """
    n, level = result.answers.n_workers, f"{result.intervals.level:.0%}"
    bars = "" if np.isnan(result.intervals.low).all() else f" Bars are {level} intervals: where the skill may well be."
    sampled = f" Drawn: {DRAWN:,} of {n:,} workers, evenly by rank." if n > DRAWN else ""
    few = f" Drawn: {MOST_WORKERS:,} of {n:,} workers, the most active of each component." if n > MOST_WORKERS else ""
    # So many workers need not have so many pairs, but then the sentence is still true.
    thin = f" At most {MOST_EDGES:,} lines, the strongest." if n * (n - 1) // 2 > MOST_EDGES else ""
    marked = " Thick purple lines: these two agree beyond their skills." if has_copying else ""
    part = f" Drawn: {MOST_IN_MAP} of {n:,} workers, the most active." if n > MOST_IN_MAP else ""
    return {
        "skills": f"Each worker's skill, the best first. The dashed line is guessing.{bars}{sampled}",
        "graph": "Lines join workers who share tasks; the larger the mark, the more answers. A dashed ring marks a "
        f"component whose skills cannot be told.{marked}{few}{thin}",
        "agreement": "One square for each two workers, both ways, by component and skill. A small square stands for "
        f"fewer than 5 shared tasks, a middling one for fewer than 20.{part}",
        "confidence": f"Tasks by how sure their label is. Below {sure:.0%}, ask for more answers.",
    }
