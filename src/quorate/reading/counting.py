"""What there is of everything, and what of it does not count: for summaries, and for `--json`."""

from quorate.answers import Counted


def sizes(answers: Counted) -> dict[str, int]:
    """Count what there is, and what was left out of it.

    >>> import quorate
    >>> sizes(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))["repeats"]
    1
    """
    counted = {
        "tasks": answers.n_tasks,
        "workers": answers.n_workers,
        "answers": answers.n_answers,
        "classes": answers.n_classes,
        "repeats": answers.n_repeats,
        "conflicting": answers.n_conflicting,
        "skipped": answers.n_skipped,
    }
    return {**counted, "abstained": answers.n_abstained} if answers.n_abstained else counted


def left_out(answers: Counted) -> list[str]:
    """Say which rows did not count, and why; nothing is dropped silently.

    >>> import quorate
    >>> left_out(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))
    ['1 row repeats an answer exactly and was counted once']
    """
    phrases = {
        ("row repeats an answer exactly and was counted once", "rows repeat an answer exactly and were counted once"): (
            answers.n_repeats
        ),
        ("row left out by the conflict policy", "rows left out by the conflict policy"): answers.n_conflicting,
        ("row skipped for a missing field", "rows skipped for a missing field"): answers.n_skipped,
    }
    lines = [f"{n:,} {one if n == 1 else many}" for (one, many), n in phrases.items() if n]
    return [*lines, *answers.abstained_lines()]
