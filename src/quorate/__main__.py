"""`python -m quorate` is the command line."""

from quorate.cli.start import main

if __name__ == "__main__":
    main()
