"""Which schemes there are: every folder of ``agents/`` whose package defines ``SCHEME``."""

from __future__ import annotations

import importlib
import pkgutil

import agents
from agents.scheme import Scheme
from configs.errors import InputError


def schemes() -> dict[str, Scheme]:
    """Return every scheme by name, in alphabetical order. Adding one is adding its folder."""
    found: dict[str, Scheme] = {}
    for module in pkgutil.iter_modules(agents.__path__):
        if module.ispkg:
            scheme = getattr(importlib.import_module(f"agents.{module.name}"), "SCHEME", None)
            if isinstance(scheme, Scheme):
                found[scheme.name] = scheme
    return dict(sorted(found.items()))


def get(name: str) -> Scheme:
    """Return the scheme called ``name``.

    Raises:
        InputError: there is none; the line lists those that there are.
    """
    known = schemes()
    if name not in known:
        raise InputError(f"--agent: {name}: not an agent that this build trains ({', '.join(known)})")
    return known[name]
