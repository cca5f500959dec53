"""The failure rate of an attack."""
