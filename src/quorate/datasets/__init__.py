"""Public crowdsourcing data with known truth, downloaded from the publishers and read.

The files are downloaded once, checked against their hash and cached. The environment variable ``QUORATE_DATA`` may name
a folder that already has them.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from quorate.answers import Answers
from quorate.arrays import Table, table_of
from quorate.datasets.layouts import LAYOUTS
from quorate.datasets.sources import FILES, SOURCES, address_of
from quorate.errors import UnknownDatasetError, UnreadableFileError, not_installed, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.gold import read_labels
from quorate.io.inputs import record_input
from quorate.io.read import read


@dataclass(frozen=True)
class Dataset:
    """Answers, and the true labels of the tasks for which they are known."""

    name: str
    answers: Answers
    truth: Table  # task, label


@check_arguments
def load(name: str) -> Dataset:
    """Read a dataset; its files are downloaded if they are not in the cache.

    Raises:
        UnknownDatasetError: there is no dataset of this name.
        UnreadableFileError: a file cannot be downloaded, or differs from the published one.

    >>> len(SOURCES), *SOURCES
    (21, 'rte1', 'temp', 'wsd', 'dogs', 'web', 'bluebird', 'trec', 'weather_cf', 'weather_amt', ...
    """
    if name not in SOURCES:
        raise unknown_name_error(name, SOURCES, "dataset", UnknownDatasetError, lister="quorate datasets list")
    source = SOURCES[name]
    paths = [fetch(file) for file in source.files]
    for path in paths:
        record_input(path)
    parse = LAYOUTS[source.layout]
    answer_table, truth = parse(*paths, *((source.question,) if source.question else ()))
    # In some sets, workers answered a task again; the last answer is their final one.
    answers = read(answer_table, on_conflict="last")
    tasks, labels = read_labels(truth)  # one row per task: some sources repeat tasks
    return Dataset(name, answers, Table(table_of({"task": tasks, "label": labels})))


@check_arguments
def fetch(file: str) -> Path:
    """Return the path of a source file in ``QUORATE_DATA`` or in the cache; download it if needed; check its hash.

    Raises:
        UnreadableFileError: the file cannot be downloaded, or differs from the published one.
    """
    sha256 = FILES[file][1]
    folder = os.environ.get("QUORATE_DATA")
    if folder:
        path = Path(folder) / file
        if not path.is_file():
            raise UnreadableFileError(f"QUORATE_DATA names {folder}, which has no file {file}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise UnreadableFileError(
                f"{path} is not the file that was published: its sha256 differs. Download it again"
            )
        return path
    try:
        import pooch
    except ImportError:
        raise not_installed("fetching data", "pooch", "[datasets]") from None
    try:
        cache = Path(pooch.os_cache("quorate")) / Path(file).parent
        return Path(pooch.retrieve(address_of(file), f"sha256:{sha256}", fname=Path(file).name, path=cache))
    except (OSError, ValueError) as error:  # no network, or another file than expected
        raise UnreadableFileError(f"cannot fetch {address_of(file)}: {error}") from None
