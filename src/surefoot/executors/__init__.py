"""Where batches run: `concurrent.futures.Executor` is the interface, `pool` chooses one."""

from surefoot.executors.ray_connection import Ray

__all__ = ["Ray"]
