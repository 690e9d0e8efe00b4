"""The error for bad input, and how entry points report it."""

import functools
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, ParamSpec

from leosim import InputError as InputError  # Rust and Python raise the same class
from pydantic import ValidationError

from leogym.common import home, signals, streams
from leogym.common.atomic import DISK_FULL_ERRORS
from leogym.common.nearest import nearest, suggest_names

Arguments = ParamSpec("Arguments")


MAX_VALUE_CHARACTERS = 60
"""Characters of a wrong value in a message."""

MAX_FIELDS = 10
"""Further wrong fields that a message names."""

MAX_RULE_CHARACTERS = 1000
"""Characters of a rule, which may repeat a user's text."""

_UNION_MEMBER = re.compile(r"(\.(bool|int|float|str|none|constrained-\w+|\w+\[.*\]|function-.*))+$")
"""What pydantic adds to the place of a value of several types."""

_TYPE_NAMES = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "string_type": "a text",
    "tuple_type": "a list",
}
"""Pydantic's type of error to the type that a value must have."""


def one_line(source: str, error: ValidationError) -> str:
    """Return ``source: field: rule`` of the first violation in ``error``, and the other wrong fields.

    If the first field is missing, the line names all missing fields next to it.
    """
    first, *further = error.errors(include_url=False)
    field = _field(first)
    if first["type"] == "missing":
        place = first["loc"][:-1]
        missing = [other for other in further if other["type"] == "missing" and other["loc"][:-1] == place]
        field = ", ".join([field, *(str(other["loc"][-1]) for other in missing)])
        further = [other for other in further if other not in missing]
    rule = first["msg"].removeprefix("Value error, ")
    if (type_name := _TYPE_NAMES.get(first["type"])) is not None:
        rule = f"must be {type_name}, not {shortened(first['input'])}"
    if first["type"].startswith("union_tag"):
        rule = _kind_rule(first)
    if first["type"] == "literal_error":
        near = nearest(str(first["input"]), re.findall("'([^']*)'", first.get("ctx", {}).get("expected", "")))
        rule += f", not {shortened(first['input'])}" + (f" (nearest: {', '.join(near)})" if near else "")
    further_fields = {_UNION_MEMBER.sub("", _field(other)): other["type"] for other in further}
    further_fields.pop(_UNION_MEMBER.sub("", field), None)
    named = [f"{name} is missing" if kind == "missing" else name for name, kind in further_fields.items()]
    if len(named) > MAX_FIELDS:
        named = [*named[:MAX_FIELDS], f"and {len(named) - MAX_FIELDS} more"]
    more = f" (also wrong: {', '.join(named)})" if named else ""
    if len(rule) > MAX_RULE_CHARACTERS:
        rule = rule[:MAX_RULE_CHARACTERS] + "…"
    return printable(f"{source}: {field}: {rule}{more}")


def _kind_rule(violation: Mapping[str, Any]) -> str:
    """Return the rule of a mapping whose key for its kind, such as ``sampler``, is missing or unknown."""
    context = violation["ctx"]
    key = context["discriminator"].strip("'")
    if violation["type"] == "union_tag_not_found":
        return f"{key}: is missing"
    names = re.findall("'([^']*)'", context["expected_tags"])
    return f"{key}: {shortened(context['tag'])}: unknown {suggest_names(context['tag'], names)}"


def _field(violation: Mapping[str, Any]) -> str:
    """Return the place of a violation: the keys that lead to it."""
    keys = ".".join(str(part)[:MAX_VALUE_CHARACTERS] for part in violation["loc"])
    return keys or "(whole file)"


def shortened(value: object) -> str:
    """Return a wrong value as a message shows it."""
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}…"


def printable(text: str) -> str:
    """Return ``text`` with non-printable characters escaped: keys from a user's file may hold any."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def exit_2(message: object) -> NoReturn:
    """Print one line to standard error and exit with status 2 (bad input)."""
    print(" ".join(str(message).split()), file=sys.stderr)
    raise SystemExit(2)


def reports_input_errors(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """Wrap an entry point: errors that the user can fix print one line instead of a traceback.

    `InputError`, a missing package of an extra, an `OSError` that names a file, a full disk and `MemoryError`
    exit with status 2, Ctrl-C with 130, SIGTERM with 143 (`signals`), and a closed stdout, as in ``| head``,
    with 141 and no message.
    Standard streams may be closed, full or of any encoding (`streams`).
    """

    @functools.wraps(main)
    def wrapped(*arguments: Arguments.args, **named: Arguments.kwargs) -> int:
        streams.prepare()
        home.prepare()
        with signals.handled():
            try:
                return _flushed(main, *arguments, **named)
            except InputError as error:
                streams.flush()
                exit_2(error)
            except ModuleNotFoundError as error:
                from leogym.common import extras  # here, because it imports this module

                streams.flush()
                if (remedy := extras.remedy_for(error)) is None:
                    raise
                exit_2(f"this command {remedy}")
            except BrokenPipeError:
                streams.drop_output()
                return 128 + signal.SIGPIPE
            except OSError as error:
                streams.flush()
                if error.filename is not None and error.strerror is not None:
                    exit_2(f"{printable(os.fsdecode(error.filename))}: {error.strerror}")
                if error.errno in DISK_FULL_ERRORS:
                    exit_2(f"a file cannot be written: {error.strerror}")
                raise
            except UnicodeEncodeError as error:
                streams.flush()
                text = printable(str(error.object))[:MAX_VALUE_CHARACTERS]
                exit_2(f"{text}: cannot be encoded as {error.encoding}: set a UTF-8 locale: LC_ALL=C.UTF-8")
            except MemoryError as error:
                exit_2(f"not enough memory: {error}")
            except KeyboardInterrupt as interrupt:
                streams.flush()
                return signals.ended(interrupt)

    return wrapped


def _flushed(main: Callable[Arguments, int], *arguments: Arguments.args, **named: Arguments.kwargs) -> int:
    """Call ``main`` and flush stdout, also after ``--help``, to notice a closed pipe or a full disk."""
    try:
        status = main(*arguments, **named)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status
