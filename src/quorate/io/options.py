"""`ReadOptions`: all options for reading answers, checked and passed on as one object."""

import codecs
import csv
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypedDict, get_args

from quorate.errors import OptionError, refuse_unknown_options, shown, unknown_name_error
from quorate.io.column_names import match_name
from quorate.io.encodings import AUTO

if TYPE_CHECKING:
    from quorate.arrays import IntArray
    from quorate.io.dataframes import Source

# What to do when a worker gave one task two different labels.
ConflictPolicy: TypeAlias = Literal["error", "first", "last", "drop"]
POLICIES: tuple[str, ...] = get_args(ConflictPolicy)
FileFormat: TypeAlias = Literal["csv", "tsv", "parquet", "jsonl", "json", "xlsx", "yaml"]
FORMATS: tuple[str, ...] = get_args(FileFormat)
PEOPLE = (
    "labelstudio",
    "argilla",
    "mturk",
    "toloka",
    "figure8",
    "zooniverse",
    "prodigy",
    "crowdkit",
    "cleanlab",
)
JUDGES = ("inspect", "promptfoo", "lm-eval", "deepeval", "mlflow", "langfuse", "phoenix", "openai")
TOOLS = ("auto", "table", *PEOPLE, *JUDGES)
ROLES = ("task", "worker", "label")
# Line ends cannot separate fields, and quotes have a special meaning.
DELIMITERS = frozenset(chr(code) for code in range(1, 128)) - set('\n\r"')
NAMED_DELIMITERS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
PATTERN = "*?["  # characters that make a name a pattern
# Values of `column_names` that are not names.
NO_HEADER = ("none",)
HEADER = ("header",)

# The keyword arguments of public functions, for type checkers and editors; a test compares them with `ReadOptions`.
NO_REMEDIES: Mapping[str, str] = {}


class FileKeywords(TypedDict, total=False):
    """Options for reading any file."""

    task: str | None
    worker: str | None
    label: str | None
    skip_missing: bool
    format: FileFormat | None
    delimiter: str | None
    encoding: str
    column_names: Sequence[str] | str | None


class TableKeywords(FileKeywords, total=False):
    """Options for reading answers from a table."""

    on_conflict: ConflictPolicy
    classes: Sequence[Any] | str | None  # str only for methods that have an option of this name
    group: "str | Mapping[Any, Any] | IntArray | None"  # name of a column; aggregate also takes a mapping or codes
    judges: bool | None
    merge_spellings: bool
    multi: str | None
    abstain: Sequence[Any]
    map: "Source"  # a mapping from answer to class, or a table of both
    workers: Sequence[str] | str | None
    worker_name: str | None
    gold_column: str | None
    fold: str | None


class ExportKeywords(FileKeywords, total=False):
    """Options for reading another tool's export."""

    question: str | None
    join_choices: bool
    keep_rejected: bool


class ReadKeywords(TableKeywords, ExportKeywords, total=False):
    """Options for reading answers from a table or an export: those of `quorate.read`."""

    tool: str


def refuse_nested(values: Any, name: str) -> None:
    """Refuse lists and records in a list of labels.

    Raises:
        OptionError: the list contains one.

    >>> refuse_nested(["cat", 3], "classes")
    """
    if values is None or isinstance(values, str):
        return
    for value in values:
        if isinstance(value, list | tuple | set | Mapping) or (hasattr(value, "ndim") and value.ndim > 0):
            raise OptionError(f"{name}= (--{name}) lists labels, each a text or a number, got {shown(value)}")


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading answers; `quorate.read` documents each of them.

    >>> ReadOptions(task="item").columns
    ('item', 'worker', 'label')
    """

    is_score: ClassVar[bool] = False  # whether the labels are numbers, see `quorate.io.scores.ScoreOptions`
    policies: ClassVar[tuple[str, ...]] = POLICIES
    label_name: ClassVar[str] = "label"  # the option that names the column of labels, for messages

    task: str | None = None  # column of task ids; None: "task", or the one that identifies tasks in an export
    worker: str | None = None
    label: str | None = None
    on_conflict: str = "error"
    skip_missing: bool = False
    classes: Sequence[Any] | None = None
    format: str | None = None  # of the file; None: by its name
    delimiter: str | None = None
    encoding: str = AUTO  # of a text file
    tool: str = "auto"  # the tool that wrote the export; "table" for no tool
    question: str | None = None
    join_choices: bool = False
    keep_rejected: bool = False
    group: str | None = None  # column of the workers' groups
    judges: bool | None = None  # whether the workers are language models; None: file format and names decide
    merge_spellings: bool = False  # merge labels that differ only by case or spaces
    multi: str | None = None  # separator between the labels of one answer; not needed for lists
    abstain: Sequence[Any] = ()  # labels that mean "no answer"; a blank one stands for blank fields
    map: Any = None  # class of each answer: a mapping, or a table with the columns answer and class
    workers: Sequence[str] | str | None = None  # columns that each hold the answers of one worker: names or patterns
    worker_name: str | None = None  # the only worker of a table without a column of workers
    gold_column: str | None = None  # column of known labels
    fold: str | None = None  # pattern of columns, each of which is a task
    column_names: Sequence[str] | str | None = None  # of a file without a header; "none" to number them, or "header"

    def __post_init__(self) -> None:
        for name in ("classes", "abstain"):
            values = getattr(self, name)
            # A column of Arrow, polars, pandas or numpy cannot be compared with a default.
            converters = ("to_pylist", "to_list", "tolist")
            as_list = next((getattr(values, name) for name in converters if hasattr(values, name)), None)
            if as_list is not None:
                object.__setattr__(self, name, as_list())
            refuse_nested(getattr(self, name), name)
        if self.group is not None and not isinstance(self.group, str):
            raise OptionError(
                "group= (--group) names a column of the answers here. Only quorate.aggregate takes a mapping from "
                "worker to group, or codes"
            )
        if self.workers is not None and len(self.workers) == 0:
            raise OptionError("workers= (--workers) is empty; it names the columns that hold one worker's answers each")
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", NAMED_DELIMITERS.get(self.delimiter, self.delimiter))
        if self.column_names is not None:
            names = split_names(self.column_names)
            if len(set(names)) < len(names) or not all(names):
                raise OptionError(
                    f"column_names= (--columns) must name every column of the file once; got {shown(self.column_names)}"
                )
            object.__setattr__(self, "column_names", names)
        if self.worker_name is not None and self.worker is not None:
            raise OptionError(
                "worker= (--worker) names a column and worker_name= (--worker-name) the only worker; give one of them"
            )
        if self.on_conflict not in self.policies:
            raise unknown_name_error(self.on_conflict, self.policies, "on_conflict= (--on-conflict)")
        if self.tool not in TOOLS:
            raise unknown_name_error(self.tool, TOOLS, "tool= (--from)")
        if self.format is not None and self.format not in FORMATS:
            raise unknown_name_error(self.format, FORMATS, "format= (--from)")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter not in DELIMITERS):
            raise OptionError(
                f"delimiter= (--delimiter) must be one ASCII character, or tab; got {shown(self.delimiter)}"
            )
        if self.multi is not None and (not self.multi or not self.multi.isprintable()):
            raise OptionError(
                f"multi= (--multi) takes the separator between two labels, such as a comma, got {self.multi!r}"
            )
        if isinstance(self.classes, str):
            raise OptionError(f"classes= must be a list of all classes, got {self.classes!r}")
        if isinstance(self.abstain, str):
            raise OptionError(f"abstain= must be a list of labels, got {self.abstain!r}")
        if self.encoding == AUTO:
            return
        try:
            "".encode(self.encoding)  # refuses names that are not text encodings: hex, zlib
            codecs.getincrementaldecoder(self.encoding)
        except (LookupError, UnicodeError, ValueError):
            raise OptionError(
                f"there is no encoding {shown(self.encoding)}; 'utf-8', 'cp1252' and 'utf-16' are common ones"
            ) from None

    @property
    def columns(self) -> tuple[str, str, str]:
        """The columns of tasks, workers and labels of a plain table."""
        return self.task or "task", self.worker or "worker", self.label or "label"

    @property
    def chosen(self) -> dict[str, str | None]:
        """Role -> the column that the caller named; None for a role without one."""
        return {role: getattr(self, role) for role in ROLES}

    def required_columns(self) -> dict[str, str]:
        """Return required column -> the remedy that an error names if it is missing."""
        required_columns = {name: self.remedy(role) for role, name in zip(ROLES, self.columns, strict=True)}
        return required_columns if self.group is None else {**required_columns, self.group: self.remedy("group")}

    def remedy(self, role: str) -> str:
        """Return what to do if the column of a role is missing."""
        option = self.label_name if role == "label" else role
        if getattr(self, role) is None:
            return f"Name the right one with {option}= (--{option})"
        return f"Choose one with {option}= (--{option})"

    def non_default(self, names: Iterable[str]) -> dict[str, Any]:
        """Return those of the named options whose value is not the default.

        >>> ReadOptions(task="item").non_default(["task", "worker"])
        {'task': 'item'}
        """
        default = type(self)()
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(default, name)}

    @property
    def has_workers(self) -> bool:
        """Whether the table names the worker of each answer."""
        return True

    def completed(self, table: Any) -> Any:
        """Return the table with its optional columns added; subclasses override this."""
        return table

    def refuse_but(self, allowed: Collection[str], where: str, remedies: Mapping[str, str] = NO_REMEDIES) -> None:
        """Refuse options that have no effect in a certain place.

        Args:
            allowed: names of the options that have an effect.
            where: the place, for messages.
            remedies: name of an option -> what to do instead; for other options, "leave it out".

        Raises:
            OptionError: an option that has no effect has another value than its default.

        >>> ReadOptions(task="item").refuse_but(["task"], "in a ledger")
        """
        for field in fields(self):
            value = getattr(self, field.name)
            default = field.default
            if (
                field.name not in allowed
                and value is not default
                and (type(value) is not type(default) or value != default)
            ):
                remedy = remedies.get(field.name, "leave it out")
                raise OptionError(f"{field.name}= ({flag_of(field.name)}) has no effect {where}; {remedy}")


FLAG_OF = {"tool": "--from", "join_choices": "--multi join", "format": "--from", "column_names": "--columns"}


def flag_of(name: str) -> str:
    """Return the option of the command line for a reading option.

    >>> flag_of("column_names"), flag_of("worker_name")
    ('--columns', '--worker-name')
    """
    return FLAG_OF.get(name, f"--{name.replace('_', '-')}")


def split_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Split a list of names at its commas; quotes keep a comma within a name, as in CSV.

    >>> split_names('item, "a, b"'), split_names(["x", "y"])
    (('item', 'a, b'), ('x', 'y'))
    """
    if not isinstance(names, str):
        return tuple(str(name) for name in names)
    try:
        row = next(csv.reader([names], skipinitialspace=True), [])
    except csv.Error:
        row = [names]
    return tuple(name.strip() for name in row)


def names_listed(names: Sequence[str] | str | None, default: Iterable[str]) -> list[str]:
    """Return one name, several names or, for None, the default as a list.

    >>> names_listed("er", ["kos"]), names_listed(None, ["kos"])
    (['er'], ['kos'])
    """
    if names is None:
        return list(default)
    return [names] if isinstance(names, str) else list(names)


def join_names(names: Sequence[str]) -> str:
    """Return names as one option, separated by commas; a name with a comma is quoted.

    >>> join_names(["page", "sound"]), join_names(["a, b"]), join_names(["a, b", "c"])
    ('page,sound', 'a, b', '"a, b",c')
    """
    if len(names) == 1:
        return names[0]
    return ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' if re.search('[,"]', name) else name for name in names)


AS_USUAL = ReadOptions()
READING = tuple(field.name for field in fields(ReadOptions))


def read_options(reading: Mapping[str, Any]) -> ReadOptions:
    """Return the `ReadOptions` with these keyword arguments.

    Raises:
        OptionError: an option does not exist, or its value is not allowed.

    >>> read_options({"delimiter": ";"}).delimiter
    ';'
    """
    refuse_unknown_options(reading, READING, " for reading answers")
    return ReadOptions(**reading)


def split_reading(options: Mapping[str, Any]) -> tuple[ReadKeywords, dict[str, Any]]:
    """Divide keyword arguments into reading options and all others.

    Two options exist for both. ``classes`` is a list for reading, and a word (``ordered``) for a method; ``group`` is
    the name of a column for reading, and a mapping or codes for a method.

    >>> split_reading({"task": "item", "solver": "gradient", "classes": "ordered"})
    ({'task': 'item'}, {'solver': 'gradient', 'classes': 'ordered'})
    """
    ours: Any = {name: options[name] for name in READING if name in options}
    if isinstance(ours.get("classes"), str):
        del ours["classes"]
    if not isinstance(ours.get("group", ""), str):
        del ours["group"]
    return ours, {name: value for name, value in options.items() if name not in ours}


def names_resolved(reading: ReadOptions, names: tuple[str, ...]) -> ReadOptions:
    """Return the options with the names of columns spelled as in the file.

    >>> names_resolved(ReadOptions(task="item id"), ("Item ID", "label")).task
    'Item ID'
    """
    columns = list(names)
    changed: dict[str, Any] = {}
    for role in ("task", "worker", "label", "group"):
        name = getattr(reading, role)
        if name is not None and name not in columns and match_name(name, columns) in columns:
            changed[role] = match_name(name, columns)
    usual = AS_USUAL.columns
    if reading.gold_column is not None and reading.workers is None and set(usual) <= set(columns):
        # With a column of known labels, columns that have the usual names are used as if the caller had named them.
        roles = ("task", "worker", "label")
        changed |= {role: name for role, name in zip(roles, usual, strict=True) if getattr(reading, role) is None}
    return replace(reading, **changed) if changed else reading


def layout_is_plain(reading: ReadOptions) -> bool:
    """Whether the options describe a table that `quorate.io.rows` reads: one column for each role.

    >>> layout_is_plain(ReadOptions(task="item")), layout_is_plain(ReadOptions(task="a,b"))
    (True, False)
    """
    special = (reading.workers, reading.worker_name, reading.gold_column, reading.fold)
    names = (reading.task, reading.worker, reading.label)
    marks = (*PATTERN, ",")
    return all(option is None for option in special) and not any(
        mark in (name or "") for name in names for mark in marks
    )


def without_layout(reading: ReadOptions) -> ReadOptions:
    """Return the options for a table that was converted to one row per answer, without those of the layout.

    >>> without_layout(ReadOptions(task="item", workers="a,b", on_conflict="first")).on_conflict
    'first'
    """
    return replace(
        reading,
        task=None,
        worker=None,
        label="label",
        workers=None,
        worker_name=None,
        gold_column=None,
        fold=None,
        column_names=None,
        group=None if reading.group is None or reading.workers is not None else "group",
        tool="table",
        format=None,
        delimiter=None,
    )
