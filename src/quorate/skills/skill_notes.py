"""Notes on skills: undetermined workers, assumed signs, other skills that fit nearly as well."""

from collections.abc import Collection

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.notes import ALTERNATIVE, DOUBTFUL_SIGN, ORIENTATION, SOLVER, UNDETERMINED, Note, command
from quorate.skills.identification import (
    BIPARTITE,
    ISOLATED,
    NO_ANSWERS,
    ONE_CLASS,
    UNINFORMED,
    Identification,
)
from quorate.skills.identification import UNDETERMINED as WHY_UNDETERMINED
from quorate.skills.objective import Solution

# Why workers cannot be rated, for one worker and for several, by status.
IN_WORDS = {
    ISOLATED: ("shares no task with others", "share no task with others"),
    BIPARTITE: (
        "is on one of two sides that share tasks only with each other",
        "form two sides that share tasks only with each other",
    ),
    ONE_CLASS: ("gave the same answer as everyone else", "gave the same answer every time"),
    UNINFORMED: ("shares tasks only with workers who guess", "share tasks only with workers who guess"),
    NO_ANSWERS: ("has no answer left", "have no answer left"),
}


# What would make ratings possible, by status.
REMEDIES = {
    ISOLATED: "More answers to tasks of other workers make ratings possible",
    BIPARTITE: "Answers of two workers of the same side to the same tasks, or known labels, make ratings possible",
}


def undetermined_note(status: IntArray, component: IntArray) -> list[Note]:
    """Return a note on how many workers cannot be rated, why, and what to do; an empty list if all can be rated.

    Args:
        status: code of `quorate.skills.identification` for each worker.
        component: number of the connected component of each worker; known labels may follow as a further worker.

    >>> undetermined_note(np.array([0, 1, 1]), np.array([0, 1, 2]))[0].text
    '2 of 3 workers cannot be rated: they share no task with others. More answers to tasks of other workers make ...
    """
    counts = {code: int((status == code).sum()) for code in WHY_UNDETERMINED if code in status}
    if not counts:
        return []
    in_words = dict(IN_WORDS)
    n_two_sided = len(np.unique(component[: len(status)][status == BIPARTITE]))
    if n_two_sided > 1:
        several = f"form {n_two_sided:,} groups, each with two sides that share tasks only with each other"
        in_words[BIPARTITE] = (several, several)
    reasons = ", ".join(f"{n:,} {in_words[code][n > 1]}" for code, n in counts.items())
    n = sum(counts.values())
    if len(counts) == 1 and n == len(status):
        [code] = counts
        if n == 1:
            return [Note(UNDETERMINED, "The only worker cannot be rated: there are no other workers to compare with")]
        text = f"None of the {n:,} workers can be rated: they {in_words[code][1]}"
        return [Note(UNDETERMINED, text + _remedy(counts))]
    if len(counts) == 1 and n > 1:
        [code] = counts
        reasons = f"they {in_words[code][1]}"
    text = f"{n:,} of {len(status):,} workers cannot be rated: {reasons}"
    return [Note(UNDETERMINED, text + _remedy(counts))]


def _remedy(reasons: Collection[int]) -> str:
    """Return what would make ratings possible, with the command that plans it; empty if more answers would not help."""
    code = next((code for code in (BIPARTITE, ISOLATED) if code in reasons), None)
    plan = command("advise", "", "quorate.next_steps(answers)")
    return "" if code is None else f". {REMEDIES[code]}: {plan}"


def orientation_note(identification: Identification) -> list[Note]:
    """Return a note that the signs of some components are assumed; an empty list for a crowd of one component.

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyxx")}
    >>> orientation_note(identify_workers(quorate.read(rows)))[0].text
    '2 groups of workers share no task, so they cannot be compared. Quorate assumes that each is right more ...
    """
    free = int(identification.unanchored.sum())
    if free == 0 or free + int(identification.anchored.sum()) < 2:
        return []
    if free == 1:
        reference = (
            "known labels"
            if identification.oriented is None or not identification.oriented.any()
            else "workers rated before"
        )
        text = f"1 group of workers has no {reference}. Quorate assumes that it is right more often than wrong"
        return [Note(ORIENTATION, text)]
    return [
        Note(
            ORIENTATION,
            f"{free:,} groups of workers share no task, so they cannot be compared. Quorate assumes that each is right "
            "more often than wrong; known labels would confirm it",
        )
    ]


def alternative_note(solution: Solution | None) -> list[Note]:
    """Return notes on optima that were adopted, or that fit the correlations nearly as well.

    >>> from quorate.skills.objective import AlternativeOptimum
    >>> other = AlternativeOptimum(gain=0.4, required=4.9, n_workers=6, difference=1.2, is_adopted=False)
    >>> alternative_note(Solution(np.zeros(9), "flow", "converged", 9, 0.0, 0.0, alternatives=(other,)))[0].text
    'alternative optimum: other skills of 6 workers fit the agreements about as well (gain 0.4 nats, 4.9 ...
    """
    if solution is None:
        return []
    adopted = [alternative for alternative in solution.alternatives if alternative.is_adopted]
    rejected = [alternative for alternative in solution.alternatives if not alternative.is_adopted]
    notes = []
    if adopted:
        n_workers = sum(alternative.n_workers for alternative in adopted)
        gain = sum(alternative.gain for alternative in adopted)
        notes.append(
            f"alternative optimum adopted: the signs of a group of {n_workers:,} workers were changed, because the "
            f"agreements fit better so (gain {gain:.1f} nats)"
        )
    if rejected:
        nearest = max(rejected, key=lambda alternative: alternative.gain - alternative.required)
        who = "1 worker" if nearest.n_workers == 1 else f"{nearest.n_workers:,} workers"
        notes.append(
            f"alternative optimum: other skills of {who} fit the agreements about as well (gain {nearest.gain:.1f} "
            f"nats, {nearest.required:.1f} required to adopt them), with differences up to {nearest.difference:.2f}; "
            "gold labels, or tasks that these workers share with the others, would decide"
        )
    return [Note(ALTERNATIVE, text) for text in notes]


def solver_note(n_answer_pairs: int, limit: int) -> Note:
    """Return the note that the number of worker pairs exceeds the limit of the pair table.

    >>> solver_note(2_000_000, 1_000_000).text
    'solver: up to 2,000,000 worker pairs, more than the 1,000,000 of a pair table; coordinate descent was used ...
    """
    return Note(
        SOLVER,
        f"solver: up to {n_answer_pairs:,} worker pairs, more than the {limit:,} of a pair table; coordinate descent "
        "was used instead of the gradient flow, and no alternative optimum was checked",
    )


def sign_note(skills: FloatArray, information: FloatArray, component: IntArray, free: BoolArray) -> list[Note]:
    """Return a note on each component whose sign is uncertain: its skills sum to zero within the standard error.

    Args:
        skills: of each worker; NaN where not determined.
        information: sum_j N_ij x_j² of each worker, whose inverse is about the variance of its skill.
        component: of each worker.
        free: of each component, whether its sign follows only from the sum; gold determines it otherwise.

    >>> sign_note(np.array([0.3, -0.2, 0.1]), np.full(3, 20.0), np.zeros(3, int), np.array([True]))[0].text
    'The skills of a group of 3 workers sum to 0.20 ± 0.39, so it is not clear whether ...
    """
    known = ~np.isnan(skills)
    n = len(free)
    count = np.bincount(component[known], minlength=n)
    total = np.bincount(component[known], skills[known], minlength=n)
    variance = 1 / np.maximum(information[known], 1.0)  # the error of a skill is at most about one
    error = np.sqrt(np.bincount(component[known], variance, minlength=n))
    return [
        Note(
            DOUBTFUL_SIGN,
            f"The skills of a group of {count[k]:,} workers sum to {total[k]:.2f} ± {error[k]:.2f}, so it is not clear "
            "whether these workers are mostly right or mostly wrong. Known labels would decide it",
        )
        for k in np.flatnonzero(free & (count > 0) & (np.abs(total) < error))
    ]
