"""What the page states first is chosen by the kind of a note, not by its words."""

from dataclasses import replace

import quorate
from quorate.diagnostics.finding import Finding
from quorate.notes import ORIENTATION, UNDETERMINED, Note
from quorate.reporting.page_text import first_things

NOT_RATED = Finding("cannot-be-judged", "a cannot be rated", 1.0, "workers")


def test_a_note_that_a_finding_states_is_not_repeated() -> None:
    result = quorate.aggregate({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    assert [note.kind for note in result.notes] == [UNDETERMINED]
    assert first_things(result, ())[0].startswith(result.notes[0].text)
    assert not any(result.notes[0].text in line for line in first_things(result, [NOT_RATED]))


def test_a_note_is_left_out_for_its_kind_whatever_it_says() -> None:
    notes = (Note(UNDETERMINED, "in other words"), Note(ORIENTATION, "their skills are not determined in sign"))
    result = replace(quorate.aggregate({"task": [1], "worker": ["a"], "label": ["x"]}, "majority"), notes=notes)
    assert first_things(result, ())[:2] == ("In other words.", "Their skills are not determined in sign.")
    assert first_things(result, [NOT_RATED])[:1] == ("Their skills are not determined in sign.",)
