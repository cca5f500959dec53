"""The five papers, by name."""

from __future__ import annotations

from papers import asap, bu_sun, mu_lim, roma, sigma
from papers.paper import Paper

PAPERS: dict[str, Paper] = {p.PAPER.name: p.PAPER for p in (bu_sun, mu_lim, roma, sigma, asap)}
"""Each paper with its tables and figures, by the name that `python -m papers` takes."""
