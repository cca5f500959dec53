"""The figures of docs/methods, computed by our own code; `make_figures.py` writes them."""
