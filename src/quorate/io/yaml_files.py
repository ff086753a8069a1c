"""Read a YAML file with PyYAML, which the extra ``yaml`` installs."""

from typing import Any

from quorate.errors import TooLargeError, UnreadableFileError, WrongFormatError, not_installed, reason, shown
from quorate.io.open_file import Loaded

MAX_BYTES = 1 << 28  # PyYAML needs about twenty times as much memory
MAX_LEVELS = 100  # of nesting; tables of answers have fewer than ten, and libyaml's time is quadratic in the depth


def read_yaml(loaded: Loaded) -> Any:
    """Return the parsed document.

    Raises:
        UnreadableFileError: PyYAML is not installed.
        WrongFormatError: the file is not YAML, or has references, by which a small file may become very large.
        TooLargeError: the file is too large.

    >>> import pyarrow as pa
    >>> read_yaml(Loaded("a.yaml", pa.py_buffer(b"ann: {1: true}")))
    {'ann': {1: True}}
    """
    try:
        import yaml
    except ImportError:
        raise not_installed(
            f"the YAML file {loaded.name}",
            "PyYAML",
            "[yaml]",
            instead="write the file as JSON",
            error=UnreadableFileError,
        ) from None
    if len(loaded.data) > MAX_BYTES:
        raise TooLargeError(f"{loaded.name} has more than {MAX_BYTES / 1e6:.0f} MB; write it as JSON lines or CSV")
    loader_class: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = bytes(loaded.data).decode("utf-8-sig")
        depth = 0
        for event in yaml.parse(text, Loader=loader_class):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_LEVELS:
                raise WrongFormatError(f"{loaded.name} nests lists and mappings more than {MAX_LEVELS} deep")
            if isinstance(event, yaml.AliasEvent):
                raise WrongFormatError(
                    f"{loaded.name} uses the reference {shown(event.anchor)}. Replace references by their values"
                )
        return yaml.load(text, Loader=loader_class)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, TypeError) as error:
        if isinstance(error, WrongFormatError):
            raise
        raise WrongFormatError(f"{loaded.name} is not YAML: {reason(error)}") from None
