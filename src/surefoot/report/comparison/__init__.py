"""Several models or levels side by side."""
