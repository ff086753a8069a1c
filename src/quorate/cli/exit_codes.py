"""Exit codes of the command line."""

LIMIT_FAILS = 1  # also used if the program that reads standard output has ended
BAD_INPUT = 2  # input, options or usage
UNDECIDED = 3  # the answers do not decide the question
PROGRAM_ERROR = 70  # an error of this program (EX_SOFTWARE of sysexits.h)
INTERRUPTED = 130  # the exit code of a shell for a program that was ended by Ctrl-C
