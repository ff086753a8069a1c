"""Options that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Gold = Annotated[str | None, typer.Option(metavar="FILE", help="Known labels of some tasks, in the same columns.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same bytes.")]
