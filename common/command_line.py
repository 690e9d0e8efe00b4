"""Command-line parsers: one-line errors with the nearest valid words, and examples in the help."""

import argparse
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from leogym.common.errors import InputError, printable
from leogym.common.nearest import nearest, suggest_names

_NEGATIVE = re.compile(r"-\.?\d")
"""The start of a negative number or coordinate, such as -33.87,151.21."""


def leogym_command(*words: object) -> str:
    """Return ``leogym WORD…``, quoted for a shell: a command that programs print and record to be run.

    The first words are literals, the command's name, so that a test can find all of them.
    """
    return shlex.join(["leogym", *map(str, words)])


class OneLineParser(argparse.ArgumentParser):
    """A parser that raises `InputError`, for one-line messages like those of all other bad input.

    Args:
        examples: arguments of calls that work; the help shows them below the options, after the program.
        options: as of `argparse.ArgumentParser`.
    """

    def __init__(self, *, examples: Iterable[str] = (), **options: Any) -> None:
        options = {"allow_abbrev": False, "formatter_class": _Help, **options}
        super().__init__(**options)
        # By default argparse takes only plain negative numbers for values, and coordinates for flags.
        self._negative_number_matcher = _NEGATIVE
        if lines := list(examples):
            examples_text = "\n".join(["examples:", *(f"  {self.prog} {line}".rstrip() for line in lines)])
            self.epilog = f"{examples_text}\n\n{self.epilog}" if self.epilog else examples_text

    def error(self, message: str) -> NoReturn:
        """Raise the message that argparse would print after the usage."""
        raise InputError(f"{self.prog}: {message}")

    def parse_args(  # type: ignore[override]  # argparse overloads it by the namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> Any:
        """Parse a command line; the error about an unknown option names the nearest options."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = _subparser(self, sys.argv[1:] if args is None else args)
            flags = [word.partition("=")[0] for word in unknown if word.startswith("--")]
            near = [name for flag in flags[:1] for name in nearest(flag, parser._option_string_actions)]
            suggestion = f" (nearest: {', '.join(near)})" if near else ""
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{suggestion}")
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            suggestion = suggest_names(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"invalid choice: {str(value)!r} {suggestion}")


class _Help(argparse.HelpFormatter):
    """Wraps descriptions, but keeps the lines of lists, such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        return "\n\n".join(
            part if ":\n  " in part else super(_Help, self)._fill_text(part, width, indent) for part in parts
        )


def _subparser(parser: argparse.ArgumentParser, args: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the subcommand that ``args`` name, else ``parser``."""
    subcommands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for index, word in enumerate(args):
        for action in subcommands:
            if word in action.choices:
                return _subparser(action.choices[word], args[index + 1 :])
    return parser


def option(flag: str, text: str, **keywords: Any) -> tuple[str, dict[str, Any]]:
    """Return a field's option for a table of them: its flag, and the keywords of its argument with a help."""
    return flag, {"help": text, **keywords}


def as_folder(text: str) -> Path:
    """Return a command-line argument as a folder, for argparse's ``type``.

    An empty name is rejected, and bytes that are not UTF-8, as Parquet's writers cannot open such paths.
    """
    if not text:
        raise argparse.ArgumentTypeError("must name a folder")
    if not text.isprintable() and any("\udc80" <= character <= "\udcff" for character in text):
        raise argparse.ArgumentTypeError(f"{printable(text)}: must be a name in UTF-8")
    return Path(text)


def number(text: str) -> float:
    """Return a command-line argument as a number, for argparse's ``type``."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
