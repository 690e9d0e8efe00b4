"""A policy's folder: policy.onnx, policy.json and their digests, which loaders check."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import leosim

from leogym.common import digests
from leogym.common.atomic import write_together
from leogym.common.errors import InputError

FILES = ("policy.onnx", "policy.json")


def describe(agent: str, observation_dim: int, action_dim: int, interval_ms: float) -> dict[str, Any]:
    """Return the entries of policy.json on which a policy's specification depends."""
    return {
        "agent": agent,
        "spec_version": leosim.Batch.spec_version(agent),
        "observation_dim": observation_dim,
        "action_dim": action_dim,
        "interval_ms": interval_ms,
    }


def write(folder: Path, onnx: bytes, description: Mapping[str, Any]) -> None:
    """Write the network, the entries of policy.json, and their digests to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    write_together(folder, digests.add_record({"policy.onnx": onnx, "policy.json": as_json(description)}))


def copy(source: Path, to: Path) -> bool:
    """Make ``to`` hold the policy in ``source``; return whether it held another one, or a damaged one.

    Raises:
        InputError: ``source`` is damaged.
    """
    require_whole(source)
    wanted = digests.add_record({name: (source / name).read_bytes() for name in FILES})
    held = {name: (to / name).read_bytes() for name in wanted if (to / name).is_file()}
    if held == wanted:
        return False
    to.mkdir(parents=True, exist_ok=True)
    write_together(to, wanted)
    return bool(held)


def is_whole(folder: Path) -> bool:
    """Return whether ``folder`` has a policy with recorded digests, and its files have them."""
    return folder.is_dir() and set(FILES) <= digests.read(folder).keys() and not digests.changed(folder)


def require_whole(folder: Path) -> None:
    """Raise an `InputError` unless the files of ``folder`` have their recorded digests.

    A folder without a record, from an earlier version, passes.
    """
    if changed := digests.changed(folder):
        raise InputError(
            f"{folder / changed[0]}: is missing or differs from its digest in {digests.NAME}: "
            "export the policy again"
        )


def as_json(data: Mapping[str, Any]) -> bytes:
    """Return ``data`` as JSON, which has neither nan nor infinities: both become null."""
    return (json.dumps(_finite(data), indent=2, default=str) + "\n").encode()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
