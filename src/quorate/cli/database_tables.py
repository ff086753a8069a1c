"""Tables that a command writes to the database of the answers; with `--replace` they replace existing tables."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.arrays import Table
    from quorate.backends.engine import Engine

OPTIONS = ("output_table", "workers_table")


class TableWriter:
    """Writes the tables that the options name; with ``--replace``, under temporary names until all are complete."""

    def __init__(self, engine: "Engine | None", parameters: Mapping[str, Any]) -> None:
        self.names: dict[str, str] = {name: parameters[name] for name in OPTIONS if parameters.get(name) is not None}
        self.temporary: dict[str, str] = {}
        if not self.names:
            return
        from quorate.backends.output import check_table
        from quorate.backends.transfer import has_table
        from quorate.errors import OptionError

        assert engine is not None  # without a database, reading raises an error for these options
        self.engine = engine
        if len(set(self.names.values())) < len(self.names):
            raise OptionError("--output-table and --workers-table name the same table; give two names")
        for option, name in self.names.items():
            if parameters.get("replace") and has_table(engine.backend, name):
                import secrets  # imported here: it imports OpenSSL and is rarely needed

                schema = name.rpartition(".")[0]
                unique = f"quorate_{secrets.token_hex(8)}"  # 64 random bits: no other table has this name
                self.temporary[option] = f"{schema}.{unique}" if schema else unique
            else:
                check_table(engine, name)

    def name_for(self, option: str) -> str | None:
        """Return the name under which the table of an option is written first; None without the option."""
        return self.temporary.get(option, self.names.get(option))

    def __call__(self, option: str, table: "Callable[[], Table]") -> None:
        """Write the table of an option, if the option was given."""
        name = self.name_for(option)
        if name is None:
            return
        from quorate.backends.output import put_table

        put_table(self.engine, table().arrow, name)

    def exchange(self) -> None:
        """Rename the complete tables to the names that they replace; in one transaction, if the engine supports it."""
        if not self.temporary:
            return
        from quorate.backends.transfer import replace_tables

        pairs = {self.names[option]: temporary_name for option, temporary_name in self.temporary.items()}
        with self.engine.running("replacing tables"):
            replace_tables(self.engine.backend, pairs)

    def remove_temporary(self) -> None:
        """Remove the tables with temporary names."""
        if not self.temporary:
            return
        from quorate.backends.transfer import drop_table

        for name in self.temporary.values():
            with suppress(Exception):  # the connection itself may be lost
                drop_table(self.engine.backend, name)


@contextmanager
def writing_tables(engine: "Engine | None", parameters: Mapping[str, Any]) -> Iterator[TableWriter]:
    """Yield a writer of the tables that the options name; at the end of the block they replace existing tables."""
    writer = TableWriter(engine, parameters)
    try:
        yield writer
        writer.exchange()
    except BaseException:  # also when interrupted
        writer.remove_temporary()
        raise
