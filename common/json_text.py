"""Reads JSON files from any program: repeated keys, ``NaN`` and too deep nesting are errors."""

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from leogym.common import text_file
from leogym.common.errors import InputError, printable, shortened

MOST_BYTES = 64 << 20
"""Size of a file."""


class _TwiceError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def read(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        InputError: the file cannot be read, or `parse` refuses its text.
    """
    return parse(text_file.read(path, MOST_BYTES), str(path))


def parse(text: str, source: str) -> Any:
    """Return the content of a JSON text.

    Raises:
        InputError: it is not JSON, an object has a key twice, a number is not finite, or brackets are nested
            too deeply. The message names ``source`` and, where it is known, the line.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}:{error.lineno}: not JSON: {printable(error.msg)}") from None
    except _TwiceError as error:
        lines = [
            str(text.count("\n", 0, match.start()) + 1)
            for match in re.finditer(re.escape(json.dumps(error.key, ensure_ascii=False)) + r"\s*:", text)
        ]
        where = f" (lines {' and '.join(lines)})" if len(lines) == 2 else ""
        raise InputError(f"{source}: {shortened(error.key)}: is given twice{where}: delete one") from None
    except RecursionError:
        raise InputError(f"{source}: not JSON: brackets are nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{source}: {printable(str(error))}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        earlier: set[str] = set()
        for key, _ in pairs:
            if key in earlier:
                raise _TwiceError(key)
            earlier.add(key)
    return content


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word}: is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]}: is too large for a number")
    return number
