"""Evidence files: a study, its claims and its journal in one file that a second party can check.

An in-toto statement in a DSSE envelope, signed or not. Nothing here concludes anything:
`surefoot.evidence.check` does.
"""
