"""`quorate reproduce`: print where the paper's experiments are. To be removed in the release after 0.3."""

import typer

from quorate.cli.exit_codes import BAD_INPUT


def reproduce() -> None:
    """Print how the paper's experiments are run."""
    typer.echo(
        (
            "The experiments are no longer part of the package. In a checkout of the repository run "
            "`make reproduce`, or `make reproduce QUICK=1` for fewer trials."
        ),
        err=True,
    )
    raise typer.Exit(BAD_INPUT)
