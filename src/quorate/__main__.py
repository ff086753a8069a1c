"""`python -m quorate` is the command line."""

from quorate.cli import main

if __name__ == "__main__":
    main()
