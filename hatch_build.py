"""Build hook: compile the sampler where there is a C compiler."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledSampler(BuildHookInterface):
    """With the library a wheel is for this platform; without it, for any."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; an editable installation uses the library beside its source."""
        script = runpy.run_path(str(Path(self.root) / "scripts" / "compile_sampler.py"))
        if not script["compile_sampler"]():
            self.app.display_info("no C compiler: NumPy will interpolate images")
            return
        place = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{place}"
        build_data["artifacts"].append("src/surefoot/perturb/_ops/_sampler.so")
