"""Compiling a kernel's plain Python source with numba, without a second copy of it.

A kernel module stays importable without numba or numpy.  Here each of its functions is cloned onto a namespace in which
the helper functions are compiled ones and the 64-bit constants are typed ``uint64`` (numba turns a mix of signed and
unsigned 64-bit integers into float64, which would round boards), and the clone is handed to numba.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def popcount(typingctx: Any, word: Any) -> Any:
    """The number of set bits of an unsigned 64-bit word, as uint64 (LLVM's ctpop)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (value,) = args
        return builder.ctpop(value)

    return types.uint64(types.uint64), codegen


def compile_kernel(module: ModuleType) -> dict[str, Any]:
    """Compile the functions that ``module.KERNEL`` names, in that order, and return them by name.

    ``module.WORDS`` names the globals that are unsigned 64-bit constants.  A function may call only functions named before
    it (and ``popcount`` and ``word``).  Compiled code is cached beside the source.
    """
    namespace: dict[str, Any] = dict(vars(module))
    namespace["popcount"] = popcount
    namespace["word"] = np.uint64
    for name in module.WORDS:
        namespace[name] = np.uint64(namespace[name])
    compiled: dict[str, Any] = {}
    for name in module.KERNEL:
        source = getattr(module, name)
        clone = FunctionType(source.__code__, namespace, name, source.__defaults__, source.__closure__)
        clone.__module__ = module.__name__
        clone.__qualname__ = name
        namespace[name] = compiled[name] = numba.njit(cache=True, nogil=True, boundscheck=None)(clone)
    return compiled


__all__ = ["compile_kernel", "popcount"]
