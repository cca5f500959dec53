"""Where evidence and records are kept."""

from surefoot.store.memory import MemoryJournal
from surefoot.store.records import ClassRow, Exhibit, Local, Record, Source

__all__ = ["ClassRow", "Exhibit", "Local", "MemoryJournal", "Record", "Source"]
