"""Critical radii."""
