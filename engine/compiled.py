"""Compiling a kernel's plain Python source with numba, without a second copy of it.

A kernel module stays importable without numba or numpy.  Here each of its functions is cloned onto a namespace in which
the helper functions are compiled ones and the 64-bit constants are typed ``uint64`` (numba turns a mix of signed and
unsigned 64-bit integers into float64, which would round boards), and the clone is handed to numba.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from engine import words

# Numba fills its configuration from the environment when it is imported, out of a type checker's sight.
CONFIG: Any = numba.config


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """The number of set bits of an unsigned 64-bit word, as uint64 (LLVM's ctpop)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (value,) = args
        return builder.ctpop(value)

    return types.uint64(types.uint64), codegen


@intrinsic
def borrowed(typingctx: Any, array: Any) -> Any:
    """The same array without its reference count, for code that only passes it on to functions.

    Numba counts references atomically at many calls, which in a kernel of small functions costs more than the work.  Borrow
    nothing but a function's own parameters, which its caller keeps: numba frees a local array after the last use of its name,
    and then the borrower reads memory that is another's.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = make_array(signature.args[0])(context, builder, value=args[0])
        view.meminfo = context.get_constant_null(types.MemInfoPointer(types.voidptr))
        view.parent = context.get_constant_null(types.pyobject)
        return view._getvalue()

    return array(array), codegen


def borrowed_uncompiled(array: Any) -> Any:
    """``borrowed`` for a run with NUMBA_DISABLE_JIT=1."""
    return array


def popcount_uncompiled(word: Any) -> Any:
    """``popcount`` for a run with NUMBA_DISABLE_JIT=1, in which an intrinsic has no code to call."""
    return np.uint64(int(word).bit_count())


def fingerprint(*modules: ModuleType) -> str:
    """A short hash of what compiled code depends on beside its own file: these modules, engine.words, this one, bounds check.

    Numba's cache looks at nothing but the time stamp of the file that a function stands in: without this, code that calls
    into a kernel would stay as it was after the kernel changed, and NUMBA_BOUNDSCHECK=1 would load code without the check.
    """
    digest = hashlib.sha256(f"boundscheck {CONFIG.BOUNDSCHECK}\n".encode())
    for module in (*modules, words, sys.modules[__name__]):
        digest.update(inspect.getsource(module).encode())
    return digest.hexdigest()[:16]


def compile_function(function: Callable[..., Any], mark: str, inline: bool = False, counted: bool = True) -> Any:
    """``function`` compiled without the GIL and cached under its name and ``mark`` (a ``fingerprint``).

    With ``counted`` off its arrays carry no reference counts, which at the calls of a kernel's small functions cost more than
    the work: for code whose caller keeps the arrays that it is given.  numba refuses such code where it makes one of its own.
    """
    if CONFIG.DISABLE_JIT:
        # NumPy's scalars warn where unsigned words wrap round, which the kernels mean to happen.
        return np.errstate(over="ignore")(function)
    function.__qualname__ = f"{function.__name__}_{mark}"
    # numba has no public name for this.
    options: dict[str, Any] = {} if counted else {"_nrt": False}
    return numba.njit(cache=True, nogil=True, boundscheck=None, forceinline=inline, **options)(function)


def jit(*modules: ModuleType) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: ``compile_function`` for code that calls into ``modules`` besides its own."""
    mark = fingerprint(*modules)
    return lambda function: compile_function(function, mark)


def compile_kernel(*modules: ModuleType) -> dict[str, Any]:
    """Compile the functions that ``KERNEL`` of ``engine.words`` and of each module names, in that order; return them by name.

    The modules are the parts of one kernel and share a namespace.  ``WORDS`` of each names its globals that are unsigned 64-bit
    constants.  A function may call only functions named before it (and ``popcount``, ``word`` and ``number``).  Compiled code is
    cached beside the source that it comes from.
    """
    parts = (words, *modules)
    namespace: dict[str, Any] = {}
    for part in parts:
        namespace |= vars(part)
    namespace["popcount"] = popcount_uncompiled if CONFIG.DISABLE_JIT else popcount
    namespace["word"], namespace["number"] = np.uint64, np.int64
    for part in parts:
        for name in part.WORDS:
            namespace[name] = np.uint64(namespace[name])
    compiled: dict[str, Any] = {}
    mark = fingerprint(*modules)
    for part in parts:
        for name in part.KERNEL:
            source = getattr(part, name)
            clone = FunctionType(source.__code__, namespace, name, source.__defaults__, source.__closure__)
            clone.__module__ = part.__name__
            namespace[name] = compiled[name] = compile_function(clone, mark, name in part.INLINE, counted=False)
    return compiled


__all__ = ["borrowed", "compile_function", "compile_kernel", "fingerprint", "jit", "popcount"]
