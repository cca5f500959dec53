"""Inputs: arrays, files, folders and datasets, with stable ids and a stated selection."""

from surefoot.inputs.fit import fit
from surefoot.inputs.load import load_inputs
from surefoot.inputs.select import Selection, select

__all__ = ["Selection", "fit", "load_inputs", "select"]
