"""The dashboard: the runs of stores in a browser, read and never written.

A request passes `guard` (host, token, sizes), then a function of `routes` reads a store through
`stores` and a template shows what it says. `live` polls stores for pages that watch a run.
"""
