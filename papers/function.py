"""`make` as a function of Python: its options as keyword arguments."""

from __future__ import annotations

from papers import make_exhibit
from papers.exhibit import Exhibit
from surefoot.commands.functions import python_function
from surefoot.records.options import FileOptions

make = python_function(make_exhibit.make, {"FileOptions": FileOptions, "Exhibit": Exhibit})
