"""The command line, one file per command: parse, call one library function, print."""
