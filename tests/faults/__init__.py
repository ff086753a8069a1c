"""Killed processes, full disks, concurrent writers and decompression bombs; `python -m tests.faults`."""
