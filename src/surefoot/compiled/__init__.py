"""Compiled code, where there was a C compiler at installation."""
