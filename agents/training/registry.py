"""Find schemes: every folder of ``agents/`` and ``agents/baselines/`` that defines ``SCHEME``."""

import importlib
import pkgutil
from pathlib import Path

from leogym.agents.training.scheme import Scheme
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names

HOMES = ("leogym.agents", "leogym.agents.baselines")  # packages whose subpackages can be schemes

RENAMED = {"sage": "clone"}
"""Agents of earlier versions, by the name that has replaced theirs."""


def schemes() -> dict[str, Scheme]:
    """Return every scheme by name, in alphabetical order.

    Raises:
        InputError: two folders define the same name.
    """
    by_name: dict[str, Scheme] = {}
    folders: dict[str, str] = {}
    for home in HOMES:
        for module in pkgutil.iter_modules(importlib.import_module(home).__path__):
            if module.ispkg and _may_define_one(home, module.name):
                scheme = getattr(importlib.import_module(f"{home}.{module.name}"), "SCHEME", None)
                if isinstance(scheme, Scheme):
                    folder = f"{home}.{module.name}".removeprefix("leogym.").replace(".", "/")
                    if (other := folders.setdefault(scheme.name, folder)) != folder:
                        raise InputError(f"{folder}: SCHEME: name: {scheme.name!r} is that of {other}, too")
                    by_name[scheme.name] = scheme
    return dict(sorted(by_name.items()))


def trainable() -> list[str]:
    """Return the names of the schemes that `leogym train` accepts: those that do not learn online."""
    return [name for name, scheme in schemes().items() if scheme.trainers]


def shipped() -> dict[str, Path]:
    """Return the folders of the shipped policies by agent."""
    files = sorted(Path(__file__).parents[1].glob("trained/*/policy/policy.json"))
    return {file.parents[1].name: file.parents[1] for file in files}


def require_present(name: str, source: str) -> None:
    """Raise an `InputError` that gives the present name if ``name`` is one of `RENAMED`."""
    if name in RENAMED:
        raise InputError(
            f"{source}: {name}: is {RENAMED[name]} now, a clone of recorded runs without {name.title()}'s "
            f"critic; the authors' weights: {leogym_command('agents', 'import', name, 'CHECKPOINT')}"
        )


def _may_define_one(home: str, name: str) -> bool:
    """Return whether a package names ``SCHEME``. Importing another one could take seconds, as torch does."""
    files = (Path(path) / name / "__init__.py" for path in importlib.import_module(home).__path__)
    return any("SCHEME" in file.read_text(encoding="utf-8") for file in files if file.exists())


def get(name: str) -> Scheme:
    """Return the scheme called ``name``; raise `InputError` if there is none."""
    require_present(name, "--agent")
    by_name = schemes()
    if name not in by_name:
        hint = suggest_names(name, trainable())
        raise InputError(f"--agent: {name}: not an agent that this build trains {hint}")
    return by_name[name]
