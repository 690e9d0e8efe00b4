"""A program's process: ``python -I -S -B worker.py CONFIG``; imports nothing of the judge.

It confines itself, then loads the program, and answers each request with one command per flow. Requests come
in by the standard input, answers leave by the standard output, both in the form of `protocol`'s docstring in
``process.py``. What the program prints goes nowhere.
"""

import contextlib
import ctypes
import difflib
import json
import math
import os
import random
import runpy
import struct
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

HELLO, COMMANDS, ERROR = 1, 2, 3
MOST_TEXT = 300
ABI = 2
"""Version of the interface of shared libraries."""
COMMAND_NAMES = ("cwnd_packets", "pacing_mbps")
Act = Callable[[Sequence[float]], tuple[float, float]]
"""A flow's function from a report's values to window and rate; NaN: not named."""


class Report(types.SimpleNamespace):
    """A flow's report, which the page docs/tasks/my-scheme.md describes."""

    def __getattr__(self, name: str) -> NoReturn:
        near = difflib.get_close_matches(name, vars(self), 1, 0.5)
        nearest = f" (nearest: {near[0]})" if near else f" (there are: {', '.join(vars(self))})"
        raise AttributeError(f"report: {name}: no such field{nearest}")


def main() -> None:
    """Serve requests until the standard input ends."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    config = json.loads(sys.argv[1])
    try:
        confinement = runpy.run_path(str(Path(__file__).with_name("confinement.py")))
        confinement["confine"](config["readable"], config["memory_bytes"], config["cpu_s"])
    except OSError as error:
        _fail(answers, f"cannot be confined: {error.strerror}")
    sys.argv = [""]
    sys.path[:] = config["path"]
    try:
        import numpy as np

        random.seed(0)
        np.random.seed(0)  # noqa: NPY002  programs may draw from the global generator
        load = _library if config["kind"] == "library" else _class
        new, described = load(config)
    except BaseException as error:
        _fail(answers, _line(error), _place(error, config["shown"]))
    _send(answers, HELLO, json.dumps(described).encode())
    flows: dict[int, Act] = {}
    while head := _exactly(requests, 8):
        count, width = struct.unpack("<II", head)
        slots = struct.unpack(f"<{count}I", _exactly(requests, 4 * count))
        reports = struct.iter_unpack(f"<{width}d", _exactly(requests, 8 * count * width))
        try:
            commands: list[float] = []
            for slot, report in zip(slots, reports, strict=True):
                if slot not in flows:
                    flows[slot] = new()
                commands += flows[slot](report)
            packed = struct.pack(f"<{2 * count}d", *commands)
        except BaseException as error:
            _fail(answers, _line(error), _place(error, config["shown"]))
        _send(answers, COMMANDS, packed)


def _class(config: dict[str, Any]) -> tuple[Callable[[], Act], dict[str, Any]]:
    """Load a Python class; return what makes a flow's function, and the class's attributes."""
    module = types.ModuleType("entry")
    sys.modules["entry"] = module  # dataclasses look their module up
    exec(compile(Path(config["file"]).read_bytes(), config["shown"], "exec"), module.__dict__)
    scheme = getattr(module, config["name"], None)
    if not isinstance(scheme, type) or not callable(getattr(scheme, "act", None)):
        raise LookupError(f"{config['name']}: no class of this name with act(report)")
    names = config["fields"]

    def new() -> Act:
        flow: Any = scheme()

        def act(values: Sequence[float]) -> tuple[float, float]:
            return _named(flow.act(Report(**dict(zip(names, values, strict=False)))))

        return act

    interval_ms = float(getattr(scheme, "interval_ms", 30.0))
    return new, {"interval_ms": interval_ms, "knows_path": bool(getattr(scheme, "knows_path", False))}


def _named(answer: Any) -> tuple[float, float]:
    """Return the window and the rate that a class's answer names."""
    if not isinstance(answer, dict) or not answer or answer.keys() - set(COMMAND_NAMES):
        wanted = " or ".join(f'{{"{name}": …}}' for name in COMMAND_NAMES)
        raise TypeError(f"act: returned {answer!r:.60}: must return {wanted}, or both")
    window, rate = (float(answer.get(name, math.nan)) for name in COMMAND_NAMES)
    for name, value in answer.items():
        if math.isnan(float(value)):
            raise ValueError(f"act: {name}: is not a number")
    return window, rate


def _library(config: dict[str, Any]) -> tuple[Callable[[], Act], dict[str, Any]]:
    """Load a shared library; return what makes a flow's function, and the library's attributes."""
    library = ctypes.CDLL(config["file"])
    library.leo_abi.restype = ctypes.c_uint32
    if library.leo_abi() != ABI:
        raise LookupError(f"leo_abi: is {library.leo_abi()}, must be {ABI}")
    library.leo_interval_ms.restype = ctypes.c_double
    library.leo_new.restype = ctypes.c_void_p
    library.leo_act.restype = None
    library.leo_act.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)

    def new() -> Act:
        state = library.leo_new()

        def act(values: Sequence[float]) -> tuple[float, float]:
            report = (ctypes.c_double * len(values))(*values)
            command = (ctypes.c_double * 2)(math.nan, math.nan)
            library.leo_act(state, report, len(values), command)
            return command[0], command[1]

        return act

    return new, {"interval_ms": library.leo_interval_ms(), "knows_path": False}


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _place(error: BaseException, file: str) -> str:
    """Return the last line of ``file`` that led to the error, as ``" (FILE:LINE)"``; empty without any."""
    lines = [error.lineno] if isinstance(error, SyntaxError) and error.filename == file else []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" ({file}:{lines[-1]})" if lines else ""


def _exactly(source: int, size: int) -> bytes:
    """Read ``size`` bytes; none if the judge is gone."""
    parts = bytearray()
    while len(parts) < size:
        part = os.read(source, size - len(parts))
        if not part:
            return b""
        parts += part
    return bytes(parts)


def _send(answers: int, kind: int, data: bytes) -> None:
    message = struct.pack("<BI", kind, len(data)) + data
    while message:
        message = message[os.write(answers, message) :]


def _fail(answers: int, why: str, place: str = "") -> NoReturn:
    with contextlib.suppress(OSError):
        _send(answers, ERROR, why.encode("utf-8", "replace")[:MOST_TEXT] + place.encode("utf-8", "replace"))
    os._exit(1)


if __name__ == "__main__":
    main()
