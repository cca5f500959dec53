"""Compile `kernels.cu` to `kernels.ptx`, which drivers since that of CUDA 11.8 read.

By NVRTC 11.8: `pip install nvidia-cuda-nvrtc-cu11==11.8.89`. Neither a GPU nor its driver is
needed.

    python scripts/compile_kernels.py
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "src" / "surefoot" / "compiled"
_OPTIONS = [b"--gpu-architecture=compute_70"]
"""The oldest GPUs that PyTorch still serves; newer ones run the same instructions."""


def compile_kernels() -> str:
    """The text of the compiled file; its first line names the source."""
    source = (_FOLDER / "kernels.cu").read_bytes()
    [nvidia] = importlib.util.find_spec("nvidia.cuda_nvrtc").submodule_search_locations
    nvrtc = ctypes.CDLL(str(Path(nvidia) / "lib" / "libnvrtc.so.11.2"))
    program = ctypes.c_void_p()
    assert not nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    options = (ctypes.c_char_p * len(_OPTIONS))(*_OPTIONS)
    failed, size = nvrtc.nvrtcCompileProgram(program, len(_OPTIONS), options), ctypes.c_size_t()
    kind = "ProgramLog" if failed else "PTX"
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, text)
    if failed:
        raise SystemExit(text.value.decode())
    return f"// kernels.cu {hashlib.sha256(source).hexdigest()}\n{text.value.decode()}"


if __name__ == "__main__":
    (_FOLDER / "kernels.ptx").write_text(compile_kernels())
