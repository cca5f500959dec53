"""Inputs: arrays, files, folders and datasets, with stable ids and a stated selection."""

from surefoot.inputs.arrays import fit
from surefoot.inputs.bracket_files import PublishedBracket, read_brackets
from surefoot.inputs.load import load_inputs
from surefoot.inputs.select import Selection, select

__all__ = ["PublishedBracket", "Selection", "fit", "load_inputs", "read_brackets", "select"]
