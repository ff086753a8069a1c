"""Exit codes of the command line."""

LIMIT_FAILS = 1  # also: the reader of standard output has gone
BAD_INPUT = 2  # input, options or usage
UNDECIDED = 3  # the answers support neither a yes nor a no
PROGRAM_ERROR = 70  # an error of this program (EX_SOFTWARE of sysexits.h)
INTERRUPTED = 130  # what a shell gives for a program that Ctrl-C ended
