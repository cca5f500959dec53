"""Kills at random moments: `python -m tests.kills --kills 200 --seed 1`.

The command line runs in processes of its own; it, or one of its workers, is killed; then the same
command runs to its end, which must be that of a run that nobody interrupted.
"""
