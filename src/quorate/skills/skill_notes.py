"""Notes on skills: undetermined workers, assumed signs, other skills that fit nearly as well."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import count, visible
from quorate.notes import ALTERNATIVE, DOUBTFUL_SIGN, ORIENTATION, SOLVER, UNDETERMINED, Note, command
from quorate.skills.identification import BIPARTITE, ISOLATED, UNDETERMINED_REASONS, Identification
from quorate.skills.objective import Solution
from quorate.skills.weak_identification import WeakIdentification

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
    counts = {code: int((status == code).sum()) for code in UNDETERMINED_REASONS if code in status}
    if not counts:
        return []
    n = sum(counts.values())
    if n == len(status) == 1:
        return [Note(UNDETERMINED, "The only worker cannot be rated: there are no other workers to compare with")]
    predicates = {
        code: UNDETERMINED_REASONS[code].of_one if n_of_code == 1 else UNDETERMINED_REASONS[code].of_several
        for code, n_of_code in counts.items()
    }
    n_two_sided = len(np.unique(component[: len(status)][status == BIPARTITE]))
    if n_two_sided > 1:
        predicates[BIPARTITE] = (
            f"form {n_two_sided:,} groups, each with two sides that share tasks only with each other"
        )
    reasons = ", ".join(f"{n_of_code:,} {predicates[code]}" for code, n_of_code in counts.items())
    who = f"{n:,} of {len(status):,} workers cannot be rated"
    if len(counts) == 1 and n > 1:
        (predicate,) = predicates.values()
        reasons = f"they {predicate}"
        if n == len(status):
            who = f"None of the {n:,} workers can be rated"
    return [Note(UNDETERMINED, f"{who}: {reasons}{_remedy(counts)}")]


def _remedy(statuses: Collection[int]) -> str:
    """Return what would make ratings possible, with the command that plans it; empty if more answers would not help."""
    code = next((code for code in (BIPARTITE, ISOLATED) if code in statuses), None)
    if code is None:
        return ""
    plan = command("advise", "", "quorate.next_steps(answers)")
    return f". {REMEDIES[code]}: {plan}"


def weakly_identified_sentence(weak: WeakIdentification, is_weakly_identified: BoolArray, names: pa.Array) -> str:
    """Return the sentence on workers who can be rated only roughly; empty if there are none.

    If no worker's skill differs from zero, it says that there are too few answers. `too_few_answers` of
    `quorate.diagnostics.workers` says so, in similar words, of the other workers whose interval is wide and includes
    zero: their skill is identified, and the interval is wide because they gave few answers.

    Args:
        weak: the test of the workers.
        is_weakly_identified: by the status of each worker.
        names: of all workers.
    """
    chosen = np.flatnonzero(is_weakly_identified)
    n_weak = len(chosen)
    if n_weak == 0:
        return ""
    if not weak.is_informative.any():
        have = "has" if n_weak == 1 else "have"
        return (
            f"{n_weak:,} of {count(len(names), 'worker')} {have} too few answers to be rated. More answers would make "
            "ratings possible"
        )
    between = np.flatnonzero(weak.is_between)
    if len(between):
        through = f"compared through {_first_names(names, between)}, whose answers carry no information"
    else:
        through = "compared only through workers whose answers carry no information"
    subject = "the worker is" if n_weak == 1 else "they are"
    shows = "The interval shows" if n_weak == 1 else "Their intervals show"
    return (
        f"{count(n_weak, 'worker')} ({_first_names(names, chosen)}) can be rated only roughly: {subject} {through}. "
        f"{shows} every skill that fits the answers"
    )


def _first_names(names: pa.Array, codes: IntArray, most: int = 5) -> str:
    """Return the names of the first workers, and the number of the others."""
    shown = ", ".join(visible(str(names[int(code)].as_py())) for code in codes[:most])
    return f"{shown} and {len(codes) - most:,} more" if len(codes) > most else shown


def orientation_note(identification: Identification) -> list[Note]:
    """Return a note that the signs of some components are assumed; an empty list for a crowd of one component.

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyxx")}
    >>> orientation_note(identify_workers(quorate.read(rows)))[0].text
    '2 groups of workers share no task, so they cannot be compared. Quorate assumes that each is right more ...
    """
    n_unanchored = int(identification.unanchored.sum())
    if n_unanchored == 0 or n_unanchored + int(identification.anchored.sum()) < 2:
        return []
    if n_unanchored > 1:
        text = (
            f"{n_unanchored:,} groups of workers share no task, so they cannot be compared. Quorate assumes that each "
            "is right more often than wrong; known labels would confirm it"
        )
    else:
        has_prior_skills = identification.oriented is not None and bool(identification.oriented.any())
        reference = "workers rated before" if has_prior_skills else "known labels"
        text = f"1 group of workers has no {reference}. Quorate assumes that it is right more often than wrong"
    return [Note(ORIENTATION, text)]


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


def sign_note(skills: FloatArray, information: FloatArray, component: IntArray, is_unanchored: BoolArray) -> list[Note]:
    """Return a note on each component whose sign is uncertain: its skills sum to zero within the standard error.

    Args:
        skills: of each worker; NaN where not determined.
        information: sum_j N_ij x_j² of each worker, whose inverse is about the variance of its skill.
        component: of each worker.
        is_unanchored: of each component, whether its sign follows only from the sum; gold determines it otherwise.

    >>> sign_note(np.array([0.3, -0.2, 0.1]), np.full(3, 20.0), np.zeros(3, int), np.array([True]))[0].text
    'The skills of a group of 3 workers sum to 0.20 ± 0.39, so it is not clear whether ...
    """
    is_rated = ~np.isnan(skills)
    n = len(is_unanchored)
    n_rated = np.bincount(component[is_rated], minlength=n)
    total = np.bincount(component[is_rated], skills[is_rated], minlength=n)
    variance = 1 / np.maximum(information[is_rated], 1.0)  # the error of a skill is at most about one
    error = np.sqrt(np.bincount(component[is_rated], variance, minlength=n))
    return [
        Note(
            DOUBTFUL_SIGN,
            f"The skills of a group of {n_rated[k]:,} workers sum to {total[k]:.2f} ± {error[k]:.2f}, so it is not "
            "clear whether these workers are mostly right or mostly wrong. Known labels would decide it",
        )
        for k in np.flatnonzero(is_unanchored & (n_rated > 0) & (np.abs(total) < error))
    ]
