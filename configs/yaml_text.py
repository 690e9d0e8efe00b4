"""YAML whose numbers are those of YAML 1.2: ``5e-5`` is a number without a decimal point, too."""

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which otherwise reads ``5e-5`` as a string."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def parse(text: str) -> Any:
    """Return the content of a YAML text.

    Raises:
        yaml.YAMLError: it is not YAML.
        ValueError: it has an invalid date.
        RecursionError: it has too many nested brackets.
    """
    return yaml.load(text, _Loader)
