"""Altair, imported when the first figure is drawn: it takes half a second, and text needs none."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from altair import *  # noqa: F403  every name of it
    from altair.typing import ChartType as ChartType  # noqa: PLC0414  for others
else:

    def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever Altair has
        import altair

        return getattr(altair, name)
