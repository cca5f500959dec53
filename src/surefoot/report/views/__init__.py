"""The page of each kind of result: its figures, tables and sections."""
