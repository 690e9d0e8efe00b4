"""Find schemes: every folder of ``agents/`` and ``agents/baselines/`` that defines ``SCHEME``."""

import importlib
import pkgutil

from leogym.agents.training.scheme import Scheme
from leogym.configs.errors import InputError
from leogym.configs.nearest import instead

HOMES = ("leogym.agents", "leogym.agents.baselines")  # packages whose subpackages can be schemes


def schemes() -> dict[str, Scheme]:
    """Return every scheme by name, in alphabetical order."""
    found: dict[str, Scheme] = {}
    for home in HOMES:
        for module in pkgutil.iter_modules(importlib.import_module(home).__path__):
            if module.ispkg:
                scheme = getattr(importlib.import_module(f"{home}.{module.name}"), "SCHEME", None)
                if isinstance(scheme, Scheme):
                    found[scheme.name] = scheme
    return dict(sorted(found.items()))


def get(name: str) -> Scheme:
    """Return the scheme called ``name``; raise `InputError` if there is none."""
    known = schemes()
    if name not in known:
        raise InputError(f"--agent: {name}: not an agent that this build trains {instead(name, known)}")
    return known[name]
