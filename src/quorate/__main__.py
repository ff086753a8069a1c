"""`python -m quorate` is the command line."""

from quorate.cli import main

main()
