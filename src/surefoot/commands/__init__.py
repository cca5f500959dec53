"""Every command as a Python function: the same words, the same defaults, the same run.

`surefoot estimate` and `sf.estimate` are one function, `estimate.estimate`. Its options are fields
of frozen dataclasses with their default and one line of help; the command line and Python both
read them from there. An option that is added to one of these classes exists in both.
"""
