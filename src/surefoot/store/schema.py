"""The tables of a store. A change of them is a new schema number; another is refused."""

from __future__ import annotations

import sqlalchemy as sa

SCHEMA = 3
TABLES = sa.MetaData()
META = sa.Table(
    "surefoot_meta",
    TABLES,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
RUNS = sa.Table(
    "surefoot_runs",
    TABLES,
    sa.Column("digest", sa.String, primary_key=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("source", sa.Text),
    sa.Column("environment", sa.Text, nullable=False),
    sa.Column("started", sa.String, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("record", sa.Text),
    sa.Column("finished", sa.String),
)
JOURNAL = sa.Table(
    "surefoot_journal",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("surefoot_runs.digest"), nullable=False, index=True),
    sa.Column("subject", sa.String, nullable=False),
    sa.Column("level", sa.Float, nullable=False),
    sa.Column("start", sa.BigInteger, nullable=False),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
)
