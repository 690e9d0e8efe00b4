"""The templates of pages."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@cache
def environment(*folders: Path, autoescape: bool = True) -> Environment:
    """Return an environment for the templates in ``folders``; an undefined name is an error.

    ``autoescape`` is for HTML.
    """
    loader = FileSystemLoader(folders)
    return Environment(
        loader=loader, autoescape=autoescape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
