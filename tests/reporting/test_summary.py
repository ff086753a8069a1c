"""What the page says first is chosen by the kind of a note, not by its words."""

from dataclasses import replace

import quorate
from quorate.notes import ORIENTATION, UNDETERMINED, Note
from quorate.reporting.summary import first_things


def test_what_a_finding_tells_is_not_told_again() -> None:
    result = quorate.aggregate({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    said = first_things(result)
    assert [note.kind for note in result.notes] == [UNDETERMINED]
    assert said[0] == result.notes[0].text
    assert said[0] not in first_things(result, is_told=True)


def test_a_note_is_left_out_for_its_kind_whatever_it_says() -> None:
    notes = (Note(UNDETERMINED, "in other words"), Note(ORIENTATION, "their skills are not determined in sign"))
    result = replace(quorate.aggregate({"task": [1], "worker": ["a"], "label": ["x"]}, "majority"), notes=notes)
    assert first_things(result)[:2] == ("in other words", "their skills are not determined in sign")
    assert first_things(result, is_told=True)[:1] == ("their skills are not determined in sign",)
