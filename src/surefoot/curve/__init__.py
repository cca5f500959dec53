"""Methods for curves: accuracy against the level, and where it meets a threshold."""
