"""The five papers, by name."""

from __future__ import annotations

from surefoot.papers import asap, bu_sun, mu_lim, roma, sigma
from surefoot.papers.paper import Paper

PAPERS: dict[str, Paper] = {p.PAPER.name: p.PAPER for p in (bu_sun, mu_lim, roma, sigma, asap)}
"""Each paper with its tables and figures, by the name that `surefoot papers` takes."""
