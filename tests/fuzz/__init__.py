"""Files and options that no sane user has: what surefoot does with them.

`python -m tests.fuzz` runs thousands; a short form is among the tests.
"""
