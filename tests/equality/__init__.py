"""Results of studies, evidence files, help texts and commands, to compare with after rebuilding.

`python -m tests.equality` runs everything again and lists what differs, `python -m tests.equality
estimate curve` some of it (a study with its evidence), and `--write` writes all of it anew.
"""
