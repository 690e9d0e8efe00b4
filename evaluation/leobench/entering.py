"""Entries: from ``[NAME=]ENTRY`` to a scheme, a policy or a program, and what a result says of it."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from leogym.common.errors import InputError
from leogym.evaluation.entries import process
from leogym.evaluation.leobench.result import Entry
from leogym.evaluation.leobench.version import Version
from leogym.evaluation.runs.backends import Simulator
from leogym.evaluation.runs.schemes import (
    GROUPS,
    Policy,
    about,
    load_policy,
    members_of,
    require_known,
    shipped,
)
from leogym.results import provenance

Named = tuple[str, Policy | None]
"""A name and, unless it is a classic scheme, the policy or program."""
_FOLDERS = re.compile(r"(?<![\w.~/-])~?/(?:[\w.@+-]+/)*(?=[\w.@+-])")
"""The folders of a path from the root or from home."""


def entrants(
    texts: Sequence[str], version: Version, schemes: Collection[str] | None = None
) -> tuple[list[Named], list[str]]:
    """Return all entries, and the members of groups that are left out because the tier does not run them.

    Args:
        texts: ``[NAME=]ENTRY`` or one of `GROUPS`, which adds its members that are not named elsewhere.
        version: has the limits of programs.
        schemes: the schemes that the tier runs without a policy; by default the simulator's.
    """
    runnable = Simulator.schemes() if schemes is None else schemes
    names = {text.partition("=")[0] for text in texts}
    entries: list[Named] = []
    left_out: list[str] = []
    for text in texts:
        if text not in GROUPS:
            entries.append(entrant(text, version, runnable))
            continue
        named = names | {name for name, _ in entries}
        members = [scheme for scheme in members_of(text) if scheme not in named]
        able = [scheme for scheme in members if scheme in runnable or scheme in shipped()]
        entries += [entrant(scheme, version, runnable) for scheme in able]
        left_out += [scheme for scheme in members if scheme not in able]
    return entries, left_out


def entrant(text: str, version: Version, schemes: Collection[str] | None = None) -> Named:
    """Return the name and, unless it is a classic scheme, the policy or program of ``[NAME=]ENTRY``.

    An entry is a scheme's name, a policy folder, ``FILE.py:Class`` or ``FILE.so``.

    Raises:
        InputError: it is none of these, it cannot be loaded, or the tier does not run it.
    """
    name, equals, path = text.partition("=")
    if not equals:
        path = text
    runnable, ours = Simulator.schemes() if schemes is None else list(schemes), shipped()
    if not equals and (text in runnable or text in ours):
        return text, load_policy(ours[text]) if text in ours and text not in runnable else None
    if process.is_program(path):
        program = process.load(path, version.limits)
        if program.knows_path:
            raise InputError(f"{path}: knows_path: LeoBench judges schemes that measure their paths")
        policy = Policy(Path(path), {}, {"interval_ms": program.interval_ms}, None, program)
        own = program.name.lower() or Path(path).stem.removeprefix("lib")
    elif Path(path).is_dir():
        policy, own = load_policy(Path(path)), Path(path).resolve().name
    else:
        require_known(text, "ENTRY", runnable)
        return text, None
    name = name if equals else own
    if not re.fullmatch(r"[\w.+-]+", name):
        raise InputError(f"{text}: name: {name!r}: must be letters, digits, and _ . + - (give NAME=ENTRY)")
    if name in {*runnable, *Simulator.schemes()}:
        raise InputError(f"{text}: name: {name} is built in; give NAME=ENTRY")
    return name, policy


def described(name: str, policy: Policy | None) -> Entry:
    """Return what a result says of an entry: no folder of the machine that judged it."""
    kind: Literal["scheme", "policy", "class", "library"] = "scheme"
    if policy is not None:
        kind = policy.program.kind if policy.program is not None else "policy"
    text = _FOLDERS.sub("", provenance.anonymous(about(name, policy, located=False)))
    return Entry(name=name, kind=kind, sha256=policy.sha256 if policy else None, about=text)
