"""Records as sentences, tables, figures and one self-contained page."""
