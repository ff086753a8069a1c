"""Public crowdsourcing data with known truth: where each set comes from, and how to read its files as published.

The files are fetched once, checked against their hash and cached. The environment variable ``QUORATE_DATA`` may name a
folder that already holds them.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import Table, from_strings, table_of
from quorate.errors import QuorateError, UnknownDatasetError, UnreadableFileError, one_of
from quorate.gold import read_labels
from quorate.reading.files import read_table
from quorate.reading.read import read

_SNOW = "https://raw.githubusercontent.com/maqqbu/MMSR/c85b4cc2419cd553cb2efea03ad62124f94aba32/original_datasets/all_collected_data/"
_ZHANG = (
    "https://raw.githubusercontent.com/zhangyuc/SpectralMethodsMeetEM/6204f5fcab1766cb1b2c40fc1bff53b1613ddc6c/src/"
)

# Every source file: its address and its sha256.
FILES = {
    "rte.standardized.tsv": (_SNOW, "3187c5de59b9b9c596d490d25b5f5f108090a35cbdd10e81f21e6d1939d6ba79"),
    "temp.standardized.tsv": (_SNOW, "7f74de9f36a0d3dfdc1f51e6433526abfc788c616d0c2d04a96206780ac74860"),
    "wsd.standardized.tsv": (_SNOW, "77b77c0f63803bcb62d3a15c199e301bacbd4dbe012278600bd34f1e5f8a8ed9"),
    "dog_crowd.txt": (_ZHANG, "1b5c88e0e6c08b8bcfb27be2c43093af06a0d649edc6a65ad719d5204b894b24"),
    "dog_truth.txt": (_ZHANG, "e1378e027b6e51b664b0c75a61e638d71bbede890cd4af2a2c4dae3718596d24"),
    "web_crowd.txt": (_ZHANG, "5b1ad44cebdcf59d42c83393a7dc3f4aa46746f5428c4caac275350247da6d6f"),
    "web_truth.txt": (_ZHANG, "7ff13173d6ad447e6959fa5226bcbef756ebe34d712eae908de30036824fc94f"),
    "bluebird_crowd.txt": (_ZHANG, "a63231e23dc02d0873d76669684812f9bad53a73f0580f43f4295175987f347e"),
    "bluebird_truth.txt": (_ZHANG, "690660bf75f24d052bec3bb55bb8dc5f7ebdadbaf36de5db9a031221f2db2ce3"),
    "trec_crowd.txt": (_ZHANG, "821141b1e95b1ff516ebccf6869f2ac88ca93035d6991b8039d76275866de402"),
    "trec_truth.txt": (_ZHANG, "405b4ff78e79b912252f19ff68116e71abe3a21c2051c7c701e7a16acbeae3e4"),
}


@dataclass(frozen=True)
class Published:
    """A data set as published."""

    name: str
    about: str
    files: tuple[str, ...]
    citation: str


SOURCES = {
    source.name: source
    for source in (
        Published("rte1", "Does a text entail a sentence? Yes or no.", ("rte.standardized.tsv",), "Snow et al. 2008"),
        Published("temp", "Which of two events came first?", ("temp.standardized.tsv",), "Snow et al. 2008"),
        Published("wsd", "Which of three senses has 'president' here?", ("wsd.standardized.tsv",), "Snow et al. 2008"),
        Published("dogs", "Which of four breeds is the dog?", ("dog_crowd.txt", "dog_truth.txt"), "Zhou et al. 2012"),
        Published(
            "web", "How relevant is a page, in five grades?", ("web_crowd.txt", "web_truth.txt"), "Zhou et al. 2012"
        ),
        Published(
            "bluebird",
            "Indigo bunting or blue grosbeak? Everyone answered everything.",
            ("bluebird_crowd.txt", "bluebird_truth.txt"),
            "Welinder et al. 2010",
        ),
        Published(
            "trec",
            "Is a document relevant? Few tasks have a truth.",
            ("trec_crowd.txt", "trec_truth.txt"),
            "Buckley, Lease and Smucker 2010; Lease and Kazai 2011",
        ),
    )
}


@dataclass(frozen=True)
class Dataset:
    """Answers, and the truth where it is known."""

    name: str
    answers: Answers
    truth: Table  # task, label


def load(name: str) -> Dataset:
    """Read a data set, fetching its files if they are not here yet.

    Raises:
        UnknownDatasetError: there is no such set.
        UnreadableFileError: a file cannot be fetched, or is not the one that was published.

    >>> sorted(SOURCES)
    ['bluebird', 'dogs', 'rte1', 'temp', 'trec', 'web', 'wsd']
    """
    source = SOURCES[one_of(name, SOURCES, "data set", UnknownDatasetError)]
    paths = [fetch(file) for file in source.files]
    parse: Callable[..., tuple[pa.Table, pa.Table]] = _read_snow if len(paths) == 1 else _read_zhang
    answers, truth = parse(*paths)
    return Dataset(name, read(answers), Table(_once_a_task(truth)))


def fetch(file: str) -> Path:
    """Return the path of a source file: in ``QUORATE_DATA``, in the cache, or freshly fetched; its hash is checked.

    Raises:
        UnreadableFileError: it cannot be had.
    """
    address, sha256 = FILES[file]
    folder = os.environ.get("QUORATE_DATA")
    if folder:
        path = Path(folder) / file
        if not path.is_file():
            raise UnreadableFileError(f"QUORATE_DATA names {folder}, which has no file {file}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise UnreadableFileError(f"{path} is not the file that was published: its sha256 differs")
        return path
    try:
        import pooch
    except ImportError:
        raise QuorateError("fetching data needs pooch: pip install 'quorate[datasets]'") from None
    try:
        cache = pooch.os_cache("quorate")
        return Path(pooch.retrieve(address + file, f"sha256:{sha256}", fname=file, path=cache))
    except (OSError, ValueError) as error:  # no network, or another file than expected
        raise UnreadableFileError(f"cannot fetch {address + file}: {error}") from None


def _read_snow(path: Path) -> tuple[pa.Table, pa.Table]:
    """Read the tables of Snow et al.: an answer a row, the truth repeated beside each."""
    table = read_table(path, dict.fromkeys(["orig_id", "!amt_worker_ids", "response", "gold"], ""))
    answers = table.select([0, 1, 2]).rename_columns(["task", "worker", "label"])
    return answers, table.select([0, 3]).rename_columns(["task", "label"])


def _read_zhang(crowd: Path, truth: Path) -> tuple[pa.Table, pa.Table]:
    """Read the files of Zhang et al.: fields separated by white space, no header."""
    rows = [line.split() for line in crowd.read_text().splitlines() if line.strip()]
    known = [line.split() for line in truth.read_text().splitlines() if line.strip()]
    return _text_table(("task", "worker", "label"), rows), _text_table(("task", "label"), known)


def _text_table(names: tuple[str, ...], rows: list[list[str]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return table_of({name: from_strings(column) for name, column in zip(names, columns, strict=True)})


def _once_a_task(truth: pa.Table) -> pa.Table:
    """List each task once; the sources repeat some."""
    tasks, labels = read_labels(truth)
    return table_of({"task": tasks, "label": labels})
