"""A program's process: ``python -I -S -B worker.py CONFIG``; imports nothing of the judge.

It confines itself, then loads the program, and answers each request with one action per flow. Requests come
in by the standard input, answers leave by the standard output, both in the form of `protocol`'s docstring in
``process.py``. What the program prints goes nowhere.
"""

import contextlib
import ctypes
import json
import os
import random
import runpy
import struct
import sys
import types
from pathlib import Path
from typing import Any, NoReturn, Protocol

HELLO, ACTIONS, ERROR = 1, 2, 3
MOST_TEXT = 300


class Flow(Protocol):
    """The program's state for one flow."""

    def act(self, observation: Any) -> Any:
        """Return the action."""
        ...


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
        new, described = _library(config["file"]) if config["kind"] == "library" else _class(config)
    except BaseException as error:
        _fail(answers, _told(error))
    _send(answers, HELLO, json.dumps(described).encode())
    flows: dict[int, Flow] = {}
    while head := _exactly(requests, 8):
        count, width = struct.unpack("<II", head)
        slots = struct.unpack(f"<{count}I", _exactly(requests, 4 * count))
        observed = np.frombuffer(_exactly(requests, 4 * count * width), "<f4").reshape(count, width)
        try:
            actions = []
            for slot, observation in zip(slots, observed, strict=True):
                if slot not in flows:
                    flows[slot] = new()
                actions.append(_number(flows[slot].act(observation.copy())))
            packed = struct.pack(f"<{count}d", *actions)
        except BaseException as error:
            _fail(answers, _told(error))
        _send(answers, ACTIONS, packed)


def _class(config: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Load a Python class; return what makes a flow's state, and what the class says of itself."""
    module = types.ModuleType("entry")
    sys.modules["entry"] = module  # dataclasses look their module up
    exec(compile(Path(config["file"]).read_bytes(), "entry.py", "exec"), module.__dict__)
    found = getattr(module, config["name"], None)
    if not isinstance(found, type) or not callable(getattr(found, "act", None)):
        raise LookupError(f"{config['name']}: no class of this name with act(observation)")
    agent, interval = getattr(found, "agent", "astraea"), getattr(found, "interval_ms", 30.0)
    return found, {"agent": str(agent), "interval_ms": float(interval)}


def _library(file: str) -> tuple[Any, dict[str, Any]]:
    """Load a shared library; return what makes a flow's state, and what the library says of itself."""
    library = ctypes.CDLL(file)
    library.leo_abi.restype = ctypes.c_uint32
    if library.leo_abi() != 1:
        raise LookupError(f"leo_abi: is {library.leo_abi()}, must be 1")
    library.leo_agent.restype = ctypes.c_char_p
    library.leo_interval_ms.restype = ctypes.c_double
    library.leo_new.restype = ctypes.c_void_p
    library.leo_act.restype = ctypes.c_double
    library.leo_act.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

    class Inside:
        def __init__(self) -> None:
            self.state = library.leo_new()

        def act(self, observation: Any) -> float:
            return library.leo_act(self.state, observation.ctypes.data, len(observation))

    return Inside, {"agent": library.leo_agent().decode(), "interval_ms": library.leo_interval_ms()}


def _number(action: Any) -> float:
    if hasattr(action, "item"):
        action = action.item()  # an array of one number
    return float(action)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


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


def _fail(answers: int, why: str) -> NoReturn:
    with contextlib.suppress(OSError):
        _send(answers, ERROR, why.encode("utf-8", "replace")[:MOST_TEXT])
    os._exit(1)


if __name__ == "__main__":
    main()
