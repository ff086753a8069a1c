"""Save results to files and read them: `Result.save` writes a file, `quorate.load` reads it.

A file is a zip archive with a JSON header (kind of file, schema version, version of the package, method) and the fields
of the result as a pickle. The pickle may create only dataclasses of this package, arrays and a few containers; any
other name is refused, so that a file from an unknown source cannot run code.
"""

import dataclasses
import io
import json
import pickle
import zipfile
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.addresses import render_address
from quorate.errors import UnreadableFileError, WrongFormatError
from quorate.io.arguments import check_arguments
from quorate.io.atomic import atomic_write
from quorate.io.inputs import record_input

if TYPE_CHECKING:
    from quorate.result import Result

KIND = "quorate result"
# Of the header and the fields. Increased when a dataclass that is stored in a result changes its fields. New names of
# classes, functions and fields, and new fields with a default, need entries in RENAMED and RENAMED_FIELDS instead.
SCHEMA_VERSION = 1
HEADER = "header.json"
FIELDS = "fields.pickle"
# Names that a pickle of a result may contain, in addition to dataclasses of this package.
ALLOWED = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "functools": {"partial"},
    "pathlib": {"Path", "PosixPath", "WindowsPath"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},  # numpy 1
    "numpy.core.numeric": {"_frombuffer"},
    "pyarrow.lib": {
        *("_reconstruct_table", "_restore_array", "chunked_array", "field", "py_buffer", "schema", "type_for_alias"),
        *("decimal128", "decimal256", "dictionary", "duration", "list_", "large_list", "struct", "timestamp"),
    },
    "quorate.arrays": {"Table"},
    "quorate.graph.components": {"_edges_not_in_memory", "_edges_of_answers", "_edges_of_blocks", "_edges_of_pairs"},
}
# Modules and names in files of older versions -> the present ones.
RENAMED = {
    ("quorate.backends.disk", "BlockCrowdInfo"): ("quorate.blocks.block", "BlockCrowdInfo"),
    ("quorate.backends.disk", "LostBlocks"): ("quorate.blocks.files", "LostBlocks"),
    ("quorate.calibration.calibration_law", "ShareRight"): ("quorate.calibration.share_right", "ShareEstimate"),
    ("quorate.diagnostics.workers", "Buttons"): ("quorate.diagnostics.one_button", "Buttons"),
    ("quorate.graph.components", "_chains"): ("quorate.graph.components", "_edges_of_answers"),
    ("quorate.graph.components", "_chains_of_blocks"): ("quorate.graph.components", "_edges_of_blocks"),
    ("quorate.graph.components", "_ends"): ("quorate.graph.components", "_edges_of_pairs"),
    ("quorate.graph.components", "_not_kept"): ("quorate.graph.components", "_edges_not_in_memory"),
}
# Classes whose fields differ in files of older versions: the fields that have another name there, and their present
# names. Fields that such a file does not have get their default.
RENAMED_FIELDS = {
    "AdviceBasis": {"verdict": "identifiability"},
    "AgreementSums": {
        "answered": "n_answered_tasks",
        "paired": "n_paired_tasks",
        "place": "position_sum",
        "place_squared": "position_square_sum",
    },
    "CentredInference": {"pull": "prior_strength"},
    "ConfidenceBasis": {
        "answers": "answers_per_task",
        "votes": "effective_votes",
        "votes_low": "effective_votes_low",
        "votes_high": "effective_votes_high",
    },
    "Diagnosis": {},
    "Engine": {"held": "our_tables"},
    "Priors": {"worth": "pseudo_answers"},
    "Vote": {"beside": "extra_columns"},
    "WeakIdentification": {"is_strong": "is_informative", "is_weak": "is_weakly_identified"},
    "WorkerAgreement": {"alike": "agreeing_share"},
}


def save_result(result: "Result", path: str | PathLike[str]) -> None:
    """Write a result to a file atomically; labels in an engine are read first.

    Raises:
        UnwritableFileError: the file cannot be written.
    """
    import quorate

    result.labels  # noqa: B018 (reads the labels from an engine, so that the file contains them)
    header = {"kind": KIND, "schema_version": SCHEMA_VERSION, "quorate": quorate.__version__, "method": result.method}

    def write(stream: Any) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(HEADER, json.dumps(header))
            archive.writestr(FIELDS, pickle.dumps(result, protocol=5))

    atomic_write(fspath(path), write)


@check_arguments
def load(path: str | PathLike[str]) -> "Result":
    """Read a result that `Result.save` wrote.

    Raises:
        UnreadableFileError: the file does not exist, or cannot be read.
        WrongFormatError: the file is not a saved result, is damaged, or was saved by a version with other fields.

    >>> import tempfile, quorate
    >>> answers = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     quorate.aggregate(answers, "majority").save(f"{folder}/run.quorate")
    ...     quorate.load(f"{folder}/run.quorate").labels["label"].to_pylist()
    ['y']
    """
    from quorate.result import Result

    name = render_address(path)
    record_input(Path(path))
    try:
        with zipfile.ZipFile(Path(path)) as archive:
            header = json.loads(archive.read(HEADER))
            if not isinstance(header, dict) or header.get("kind") != KIND:
                raise WrongFormatError(f"{name} is not a saved result. Write one with result.save(path)")
            if header.get("schema_version") != SCHEMA_VERSION:
                raise WrongFormatError(
                    f"{name} was saved by quorate {header.get('quorate')} with schema version "
                    f"{header.get('schema_version')}, and this version reads {SCHEMA_VERSION}. Aggregate the answers "
                    "again, or use the version that saved it"
                )
            result = _Reader(io.BytesIO(archive.read(FIELDS))).load()
    except OSError as error:
        raise UnreadableFileError(f"{name} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, json.JSONDecodeError):
        raise WrongFormatError(f"{name} is not a saved result. Write one with result.save(path)") from None
    except WrongFormatError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise WrongFormatError(f"{name} is damaged: {error}. Save the result again") from None
    if not isinstance(result, Result):
        raise WrongFormatError(f"{name} is not a saved result. Write one with result.save(path)")
    return result


class _Reader(pickle.Unpickler):
    """An unpickler that creates only objects of which results consist."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the object with this name; refuse a name that results cannot contain."""
        module, name = RENAMED.get((module, name), (module, name))
        if name in ALLOWED.get(module, ()):
            return super().find_class(module, name)
        if module.partition(".")[0] == "quorate" and "." not in name:
            attribute = getattr(import_module(module), name, None)
            if isinstance(attribute, type) and dataclasses.is_dataclass(attribute):
                return _with_renamed_fields(attribute) if name in RENAMED_FIELDS else attribute
        raise WrongFormatError(f"a saved result does not contain {module}.{name}; the file is not one of quorate's")


def _with_renamed_fields(kind: type) -> type:
    """Return a subclass for the unpickler, whose instances become instances of the class itself.

    >>> from quorate.skills.priors import Priors
    >>> priors = object.__new__(_with_renamed_fields(Priors))
    >>> priors.__setstate__({"worth": 2.0})
    >>> type(priors) is Priors, priors.pseudo_answers
    (True, 2.0)
    """
    renamed = RENAMED_FIELDS[kind.__name__]
    defaults = {
        field.name: field.default_factory
        for field in dataclasses.fields(kind)
        if field.default_factory is not dataclasses.MISSING
    }

    def create(self: Any, *values: Any) -> None:
        object.__setattr__(self, "__class__", kind)
        self.__init__(*values)

    def restore(self: Any, state: dict[str, Any]) -> None:
        object.__setattr__(self, "__class__", kind)
        fields = {renamed.get(name, name): value for name, value in state.items()}
        for name, default in defaults.items():
            fields.setdefault(name, default())
        self.__dict__.update(fields)

    return type(kind.__name__, (kind,), {"__slots__": (), "__init__": create, "__setstate__": restore})
