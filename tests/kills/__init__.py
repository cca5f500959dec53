"""Kills at random moments: `python -m tests.kills --kills 200 --seed 1`.

The command line runs in processes of its own; it, one of its workers, or a process of the cluster
of Ray that it started is killed, or the database cuts its connections in mid-transaction;
then the same command runs to its end, which must be that of a run that nobody interrupted.
"""
