"""Sixty realistic bugs, to measure whether the tests would catch them.

`python -m tests.bugs` puts each of them, one at a time, into a copy of the tree and runs the
nearest tests there. A bug is addressed by function, so that the list survives moves of modules.
"""
