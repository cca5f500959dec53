"""The tables of a store. A change of them is a new schema number; another is refused."""

from __future__ import annotations

import sqlalchemy as sa

SCHEMA = 4
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
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String, nullable=False, unique=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("source", sa.Text),
    sa.Column("environment", sa.Text, nullable=False),
    sa.Column("started", sa.String, nullable=False),
    sa.Column("written", sa.String, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("trials", sa.BigInteger, nullable=False),
    sa.Column("record", sa.Text),
    sa.Column("finished", sa.String),
    sa.Column("stopped", sa.Boolean, nullable=False),
    sa.Column("sealed_rows", sa.BigInteger, nullable=False),
    sa.Column("heads", sa.String, nullable=False),
    sa.Column("seal", sa.String, nullable=False),
)
"""`rows` and `trials`: of its journal. `written`: the last write. The last three columns belong to
the record: the rows it was made from, the digest of their chains, and that of all together."""
JOURNAL = sa.Table(
    "surefoot_journal",
    TABLES,
    sa.Column("run", sa.ForeignKey("surefoot_runs.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.String, nullable=False),
    sa.Column("level", sa.Double, nullable=False),
    sa.Column("start", sa.BigInteger, nullable=False),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""`number` counts the rows of a run from 0; `checksum` chains those of one input."""
