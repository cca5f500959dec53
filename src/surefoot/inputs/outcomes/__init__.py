"""Outcomes that were counted elsewhere: one reader for each format of files."""
