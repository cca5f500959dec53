"""Failure probabilities, decisions and extrapolated tails."""
