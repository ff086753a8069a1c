"""The command line, one file a command: parse, call one library function, print."""
