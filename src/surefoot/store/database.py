"""An open database: transactions, errors in one sentence, and a lost connection made again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import sleep
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from surefoot.errors import StoreFailed

T = TypeVar("T")
_ERRORS = (SQLAlchemyError, UnicodeDecodeError)
"""The second comes from the driver of SQLite where a file is damaged."""
_Connect = Callable[[], AbstractContextManager[sa.Connection]]


class Database:
    """An engine, its place without a password, and what its errors mean.

    `describe` turns the database's own message, of one line or more, into a sentence. `delays`:
    seconds to wait before each new attempt after a lost connection; without them there is none.
    `check_place` raises where the database is no longer in its place, as a file that was removed.
    """

    def __init__(
        self,
        engine: sa.Engine,
        where: str,
        describe: Callable[[str], str],
        delays: tuple[float, ...] = (),
        check_place: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine, self.where = engine, where
        self._describe, self._delays, self._check_place = describe, delays, check_place
        logger = engine.pool.logger
        if isinstance(logger, logging.Logger):
            logger.addFilter(_is_no_stop)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Do the work in one transaction; again from its start if the connection is lost.

        The work must notice what an earlier attempt has already written: its transaction may have
        been committed although no answer came.
        """
        result = self._repeat(work, self.engine.begin)
        self._check_place()
        return result

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Do the work, which changes nothing."""
        return self._repeat(work, self.engine.connect)

    def once(self, work: Callable[[sa.Connection], T]) -> T:
        """Do the work in one transaction; a lost connection is an error."""
        with self.sentences(), self.engine.begin() as db:
            return work(db)

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn errors of the database into one sentence with the way out."""
        try:
            yield
        except _ERRORS as error:
            raise StoreFailed(self._words(error)) from error

    def _repeat(self, work: Callable[[sa.Connection], T], connect: _Connect) -> T:
        for delay in (*self._delays, None):
            try:
                with connect() as db:
                    return work(db)
            except _ERRORS as error:
                lost = bool(self._delays) and _is_lost(error)
                if not lost:
                    self._check_place()
                    raise StoreFailed(self._words(error)) from error
                if delay is None:
                    raise StoreFailed(self._gone(error)) from error
                self.engine.dispose()
                sleep(delay)
        raise AssertionError  # the last attempt returned or raised

    def _gone(self, error: Exception) -> str:
        return (
            f"{self._words(error)}; {len(self._delays)} new attempts in {sum(self._delays):g} s "
            "failed: run the same command again, which goes on; what was stored stays"
        )

    def _words(self, error: Exception) -> str:
        text = str(error.orig) if isinstance(error, DBAPIError) else str(error)
        return self._describe(text.strip())


def _is_lost(error: Exception) -> bool:
    """Whether there is no connection, or no longer one."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    connecting = error.statement is None and isinstance(error, sa.exc.OperationalError)
    return connecting or (isinstance(state, str) and state.startswith(("08", "57P")))


def _is_no_stop(record: logging.LogRecord) -> bool:
    """Whether to log this: not that a run was stopped while a connection was given back.

    The exception is raised again where the run can end; SQLAlchemy would print its traceback.
    """
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or issubclass(kind, Exception)
