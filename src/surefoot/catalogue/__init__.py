"""Names and text ↔ methods, perturbations and properties."""
