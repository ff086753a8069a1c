"""The 26 public crowds with true labels on which calibrations are fitted and tested, and their groups.

Seven are in `quorate.datasets`; nineteen more are read from folders with labels.csv and truth.csv.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.datasets import load
from quorate.errors import UnreadableFileError
from quorate.io.gold import match_truth
from quorate.io.read import read
from quorate.io.read_table import Source

SEVEN = ("bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web")
MORE = (
    "weather_cf",
    "weather_amt",
    "music_genre",
    "zencrowd_all",
    "product",
    "face",
    "bm",
    "labelme",
    "athlete",
    "netflix",
    "age",
    "flower",
    "slr_intervention",
    "slr_tech",
    "slr_older",
    "small_mammals",
    "trees",
    "cifar10s",
    "judges_civil",
)
NAMES = SEVEN + MORE
# Groups of crowds that share tasks or workers: they are left out together. Every other crowd is its own group.
TOGETHER = {
    "weather_cf": "weather",
    "weather_amt": "weather",
    "athlete": "dtype",
    "netflix": "dtype",
    "slr_intervention": "slr",
    "slr_tech": "slr",
    "slr_older": "slr",
    "trees": "clig",
    "small_mammals": "clig",
}


@dataclass(frozen=True)
class PublicCrowd:
    """Answers, and the class code of each task's truth: -1 unknown, -2 a class that no worker gave."""

    name: str
    answers: Answers
    truth: IntArray

    @property
    def group(self) -> str:
        """The name of the group of crowds that is left out together with this one."""
        return TOGETHER.get(self.name, self.name)


def folder_of_more(folder: str | None = None) -> Path:
    """Return the folder of the nineteen crowds: the given one, or ``more`` next to the folder in QUORATE_DATA.

    Raises:
        UnreadableFileError: the folder does not exist.
    """
    beside = Path(os.environ.get("QUORATE_DATA", "")).resolve().parent / "more"
    place = beside if folder is None else Path(folder)
    if not place.is_dir():
        raise UnreadableFileError(
            f"there is no folder {place}, which would hold {MORE[0]}/labels.csv and the others: let QUORATE_DATA name "
            "a folder beside it, or --more the folder itself, where there is such an option"
        )
    return place


def public_crowd(name: str, more: Path) -> PublicCrowd:
    """Read one of the 26 crowds."""
    if name in SEVEN:
        data = load(name)
        return PublicCrowd(name, data.answers, class_codes(data.truth, data.answers))
    answers = read(str(more / name / "labels.csv"), on_conflict="last")
    return PublicCrowd(name, answers, class_codes(str(more / name / "truth.csv"), answers))


def class_codes(source: Source, answers: Answers) -> IntArray:
    """Return the class of each task's truth: -1 unknown, -2 a class that no worker gave."""
    tasks, labels = match_truth(source, answers, what="the truth")
    is_matched = tasks.codes >= 0
    truth = np.full(answers.n_tasks, -1, np.int64)
    truth[tasks.codes[is_matched]] = np.where(labels.codes[is_matched] >= 0, labels.codes[is_matched], -2)
    return truth
