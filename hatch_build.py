"""Build hook: compile the C code where there is a C compiler."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledLibrary(BuildHookInterface):
    """With the library a wheel is for this platform; without it, for any."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; an editable installation uses the library beside its source."""
        script = runpy.run_path(str(Path(self.root) / "scripts" / "compile_library.py"))
        if not script["compile_library"]():
            self.app.display_info("no C compiler: NumPy does its work, more slowly")
            return
        place = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{place}"
        build_data["artifacts"].append("src/surefoot/compiled/_compiled.so")
