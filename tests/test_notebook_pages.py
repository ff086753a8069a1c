"""The notebooks are pages of the site, with their output, and those pages are up to date."""

from tools.notebook_pages import main


def test_the_pages_are_the_notebooks() -> None:
    assert main(["--check"]) == 0
