"""What other people call the columns of tasks, workers and labels."""

import shlex
from collections.abc import Mapping, Sequence

from quorate.errors import MissingColumnError, listing

# In the order of how sure they are; names are compared without case, spaces and underscores.
USUAL = {
    "task": (
        "task taskid item itemid question questionid example exampleid unit unitid document documentid doc docid image "
        "imageid sample sampleid instance instanceid hit hitid prompt promptid id"
    ),
    "worker": (
        "worker workerid annotator annotatorid rater raterid user userid performer judge judgeid labeler labeller "
        "labelerid coder coderid reviewer assessor grader model username email"
    ),
    "label": (
        "label answer annotation response rating class category judgment judgement verdict value choice score vote "
        "grade output"
    ),
}


def usual_columns(fields: Sequence[str], chosen: Mapping[str, str | None]) -> dict[str, str] | None:
    """Guess which columns are meant, by their names; None where a role has no such column.

    Args:
        fields: the columns there are.
        chosen: those that the caller named, by role; None where none was.

    >>> usual_columns(["item", "annotator", "answer"], {"task": None, "worker": None, "label": None})
    {'task': 'item', 'worker': 'annotator', 'label': 'answer'}
    >>> usual_columns(["x", "y"], {"task": None, "worker": None, "label": None})
    """
    plain = {"".join(name.lower().split()).replace("_", "").replace("-", ""): name for name in reversed(fields)}
    found: dict[str, str] = {}
    for role, names in USUAL.items():
        given = chosen[role]
        column = given or next((plain[name] for name in names.split() if name in plain), None)
        if column is None or column in found.values() or column not in fields:
            return None
        found[role] = column
    return found


def as_said(columns: Mapping[str, str]) -> str:
    """Write the mapping as a caller says it, in Python and in a shell; roles of the usual name need no word.

    >>> as_said({"task": "item", "worker": "worker", "label": "my answer"})
    "task='item', label='my answer' (--task item --label 'my answer')"
    """
    named = {role: column for role, column in columns.items() if role != column}
    typed = shlex.join(word for role, column in named.items() for word in (f"--{role}", column))
    return f"{', '.join(f'{role}={column!r}' for role, column in named.items())} ({typed})"


def refuse_other_names(fields: Sequence[str], chosen: Mapping[str, str | None], name: str) -> None:
    """Refuse a table whose columns seem to be meant under other names, and say how to name them.

    Args:
        fields: the columns there are.
        chosen: those that the caller named, by role; None where none was.
        name: of the table, for the error.

    Raises:
        MissingColumnError: every role has a column that seems to be meant.

    >>> refuse_other_names(["x", "y"], {"task": None, "worker": None, "label": None}, "answers.csv")
    """
    meant = usual_columns(fields, chosen)
    if meant is not None:
        raise MissingColumnError(
            f"{name} has the columns {listing(fields, 12)}; if they are what they seem, say {as_said(meant)}"
        )
