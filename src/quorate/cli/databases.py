"""Tables that a command writes to the database that the answers came from; `--replace` exchanges existing ones."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.arrays import Table
    from quorate.backends.engine import Engine

OPTIONS = ("output_table", "workers_table")


class TableWriter:
    """Writes the tables that the options name; with ``--replace`` under temporary names until all are complete."""

    def __init__(self, engine: "Engine | None", parameters: Mapping[str, Any]) -> None:
        self.names: dict[str, str] = {name: parameters[name] for name in OPTIONS if parameters.get(name) is not None}
        self.temporary: dict[str, str] = {}
        if not self.names:
            return
        from quorate.backends.output import check_table
        from quorate.backends.transfer import has_table
        from quorate.errors import OptionError

        assert engine is not None  # reading refuses the options where there is no database
        self.engine = engine
        if len(set(self.names.values())) < len(self.names):
            raise OptionError("--output-table and --workers-table name the same table; give two names")
        for option, name in self.names.items():
            if parameters.get("replace") and has_table(engine.backend, name):
                import secrets  # few need it, and it imports OpenSSL

                schema = name.rpartition(".")[0]
                unique = f"quorate_{secrets.token_hex(8)}"  # of no other table: 64 random bits
                self.temporary[option] = f"{schema}.{unique}" if schema else unique
            else:
                check_table(engine, name)

    def name_for(self, option: str) -> str | None:
        """Return the name under which the table of an option is to be made; None without the option."""
        return self.temporary.get(option, self.names.get(option))

    def __call__(self, option: str, table: "Callable[[], Table]") -> None:
        """Write the table of an option, if the option was given."""
        name = self.name_for(option)
        if name is None:
            return
        from quorate.backends.output import put_table

        put_table(self.engine, table().arrow, name)

    def exchange(self) -> None:
        """Give the complete tables the names of those that they replace, where the engine can, in one transaction."""
        if not self.temporary:
            return
        from quorate.backends.transfer import replace_tables

        pairs = {self.names[option]: made for option, made in self.temporary.items()}
        with self.engine.running("replacing tables"):
            replace_tables(self.engine.backend, pairs)

    def remove_temporary(self) -> None:
        """Remove the tables that were not exchanged."""
        if not self.temporary:
            return
        from quorate.backends.transfer import drop_table

        for name in self.temporary.values():
            with suppress(Exception):  # the connection itself may be gone
                drop_table(self.engine.backend, name)


@contextmanager
def writing_tables(engine: "Engine | None", parameters: Mapping[str, Any]) -> Iterator[TableWriter]:
    """Let the tables that the options name be written within the block; at its end they replace existing ones."""
    writer = TableWriter(engine, parameters)
    try:
        yield writer
        writer.exchange()
    except BaseException:  # also when interrupted
        writer.remove_temporary()
        raise
