"""Results of studies, evidence files, help texts and commands, to compare with after rebuilding.

`python -m tests.equality` runs everything again and lists what differs, `--write` writes it anew.
"""
