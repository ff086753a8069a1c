"""Several choices in one answer of an export: one text with a bar between two, and what is said of it."""

from collections.abc import Sequence

from quorate.errors import ColumnTypeError, count, listing

JOINT = "|"  # between the choices of one answer


def check_choices(where: str, chosen: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return choices that can be told apart again, with their place.

    Raises:
        ColumnTypeError: the bar stands in one of them.

    >>> check_choices("row 1", ["cat", "dog"])
    ('row 1', ['cat', 'dog'])
    """
    if any(JOINT in name for name in chosen):
        raise ColumnTypeError(
            f"{where} chooses {listing(chosen)}, and {JOINT!r}, which is put between two labels, is in one; rename it"
        )
    return where, chosen


def several_note(multiple: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Say how answers of several choices are read; nothing where there are none.

    >>> several_note([("row 1", ["cat", "dog"])])[0][:60]
    "1 answer chooses several labels (row 1 has 'cat', 'dog'): ea"
    """
    if not multiple:
        return ()
    (where, chosen), n = multiple[0], len(multiple)
    return (
        f"{count(n, 'answer')} {'chooses' if n == 1 else 'choose'} several labels ({where} has {listing(chosen)}): "
        "each label is a question of its own, yes or no; join_choices=True (--join-choices) takes each combination "
        "for a class",
    )
