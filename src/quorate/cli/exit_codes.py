"""Exit codes of the command line."""

LIMIT_FAILS = 1  # also: the reader of standard output has gone
BAD_INPUT = 2  # input, options or usage
UNDECIDED = 3  # the answers support neither a yes nor a no
INTERRUPTED = 130  # what a shell gives for a program that Ctrl-C ended
