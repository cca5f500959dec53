"""Sentences, help texts, studies, commands, refusals and evidence as they were, to compare with.

`python -m tests.equality` runs everything again and lists what differs, `python -m tests.equality
sentences helps estimate` some of it (a study with its evidence); `--write` keeps what it is today.
"""
