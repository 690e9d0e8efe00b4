"""Reads and writes YAML 1.2's core schema: ``010`` is 10, ``1:30`` and ``yes`` are texts, ``5e-5`` a number.

The reader builds values from PyYAML's events. PyYAML's own constructor reads YAML 1.1, lets the last of equal
keys win, and expands aliases without a bound. Here an alias gives a copy, and a merge key (``<<: *name``)
adds the keys that its mapping lacks.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml import events

from leogym.common import text_file
from leogym.common.errors import InputError, printable

MOST_BYTES = 8 << 20
"""Size of a file."""
MOST_VALUES = 200_000
"""Keys, texts, numbers, lists and mappings in a file, with aliases expanded."""
MOST_DEPTH = 64
"""Lists and mappings within each other."""
TEXT_OF_ONE_VALUE = 100
"""Characters; longer texts count as several values, because aliases repeat them."""
MOST_DIGITS = 300
"""Characters of an integer; beyond, it is no 64-bit float."""

_MERGE = "<<"
_CORE = "tag:yaml.org,2002:"
_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}
_WORDS: dict[str, Any] = {"": None, "~": None}
for _spelling in (str.lower, str.capitalize, str.upper):
    _WORDS |= {_spelling("null"): None, _spelling("true"): True, _spelling("false"): False}
for _sign, _value in (("", math.inf), ("+", math.inf), ("-", -math.inf)):
    _WORDS |= {f"{_sign}.{word}": _value for word in ("inf", "Inf", "INF")}
_WORDS |= {f".{word}": math.nan for word in ("nan", "NaN", "NAN")}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FIRST_OF_NUMBERS = frozenset("-+.0123456789")

_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(InputError):
    """A text that is not YAML, or that a reader could take for something else than its writer means.

    Attributes:
        rule: the message without the source.
    """

    def __init__(self, source: str, line: int, rule: str) -> None:
        rule = printable(rule)
        super().__init__(f"{source}:{line}: {rule}")
        self.rule = rule


def read(path: Path) -> Any:
    """Return the content of a YAML file; None if it is empty.

    Raises:
        InputError: the file cannot be read, or `parse` refuses its text.
    """
    return parse(text_file.read(path, MOST_BYTES), str(path))


def parse(text: str, source: str) -> Any:
    """Return the content of a YAML text; None if it is empty.

    Raises:
        YamlError: it is not YAML; it has a key twice, a key that is no text, a second document, an unknown
            tag, or more than `MOST_VALUES`, `MOST_DEPTH` or `MOST_DIGITS`. The message names source and line.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:  # a command line may hold any bytes
        raise YamlError(source, text[: error.start].count("\n") + 1, "not UTF-8 text") from None
    try:
        return _Document(text, source).content()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        problem = error.problem or error.context
        if mark is not None and any(
            "\t" in line[: mark.column + 1] for line in text.splitlines()[mark.line : mark.line + 1]
        ):
            problem = f"{problem}: a tab: indent with blanks"
        raise YamlError(source, line, f"not YAML: {problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        raise YamlError(source, line, f"not YAML: {error.reason}") from None


def line_of(path: Path, keys: Sequence[str | int]) -> int:
    """Return the line of the value in a readable YAML file that ``keys`` lead to, or of the last that exists.

    The keys of mappings lead to the lines of these keys.
    """
    node = yaml.compose(text_file.read(path, MOST_BYTES), Loader=_Parser)
    line = 1 if node is None else node.start_mark.line + 1
    for key in keys:
        children: dict[Any, tuple[Any, Any]] = {}
        if isinstance(node, yaml.MappingNode):
            children = {name.value: (name, value) for name, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            children = {index: (item, item) for index, item in enumerate(node.value)}
        if key not in children:
            break
        start, node = children[key]
        line = start.start_mark.line + 1
    return line


def dump(data: Any, **options: Any) -> str:
    """Return YAML that `parse` and readers of YAML 1.1 read as ``data``; ``options`` are `yaml.dump`'s."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, **options)


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes the texts that are numbers in YAML 1.1; here also those of 1.2."""


for _tag, _pattern in (("int", _INTEGER), ("float", _FLOAT)):
    _full_pattern = re.compile(f"(?:{_pattern.pattern})$")
    _Dumper.add_implicit_resolver(_CORE + _tag, _full_pattern, list(_FIRST_OF_NUMBERS))


class _Document:
    """The one document of a text, built from the parser's events."""

    def __init__(self, text: str, source: str) -> None:
        self._parser = _Parser(text)
        self._source = source
        self._values = 0
        self._path: list[str] = []
        # Each anchor's value and number of values; None while it is being read.
        self._anchors: dict[str, tuple[Any, int] | None] = {}

    def content(self) -> Any:
        self._next()  # the stream's start
        event = self._next()
        if isinstance(event, events.StreamEndEvent):
            return None
        if event.version not in (None, (1, 2)):
            raise self._error(event, f"%YAML {event.version[0]}.{event.version[1]}: LeoGym reads YAML 1.2")
        value = self._value(self._next())
        self._next()  # the document's end
        event = self._next()
        if not isinstance(event, events.StreamEndEvent):
            raise self._error(event, "a second document starts here: a file must hold one")
        return value

    def _next(self) -> Any:
        return self._parser.get_event()

    def _error(self, event: Any, rule: str) -> YamlError:
        field = ".".join(self._path)
        return YamlError(self._source, event.start_mark.line + 1, f"{field}: {rule}" if field else rule)

    def _value(self, event: Any) -> Any:
        if isinstance(event, events.AliasEvent):
            return self._alias(event)
        before = self._values
        self._count(event, 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, events.ScalarEvent):
            self._count(event, len(event.value) // TEXT_OF_ONE_VALUE)
            value = self._scalar(event)
        else:
            if len(self._path) >= MOST_DEPTH:
                self._path.clear()
                raise self._error(event, f"more than {MOST_DEPTH} lists and mappings within each other")
            is_list = isinstance(event, events.SequenceStartEvent)
            if event.tag not in (None, "!", _CORE + ("seq" if is_list else "map")):
                raise self._error(event, f"{event.tag}: unknown tag: delete it")
            value = self._list() if is_list else self._mapping()
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _count(self, event: Any, values: int) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            self._path.clear()
            raise self._error(
                event, f"more than the {MOST_VALUES:,} values that a file may have, with aliases expanded"
            )

    def _alias(self, event: Any) -> Any:
        name = event.anchor
        if name not in self._anchors:
            raise self._error(event, f"*{name}: there is no &{name} above")
        anchored = self._anchors[name]
        if anchored is None:
            raise self._error(event, f"*{name}: is part of what &{name} stands for")
        value, values = anchored
        self._count(event, values)
        return _copy(value)

    def _list(self) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(), events.SequenceEndEvent):
            self._path.append(str(len(items)))
            items.append(self._value(event))
            self._path.pop()
        return items

    def _mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        lines: dict[str, int] = {}
        while not isinstance(event := self._next(), events.MappingEndEvent):
            is_merge = isinstance(event, events.ScalarEvent) and event.value == _MERGE and event.implicit[0]
            key = self._key(event)
            self._path.append(key)
            if key in lines:
                raise self._error(event, f"is also in line {lines[key]}: delete one of the two")
            lines[key] = event.start_mark.line + 1
            value = self._value(self._next())
            if is_merge:
                merged = value if isinstance(value, list) else [value]
                if not all(isinstance(source, dict) for source in merged):
                    raise self._error(event, "must be a mapping or a list of mappings")
            else:
                mapping[key] = value
            self._path.pop()
        for source in merged:  # the first one that has a key wins
            for key, value in source.items():
                mapping.setdefault(key, value)
        return mapping

    def _key(self, event: Any) -> str:
        if isinstance(event, events.CollectionStartEvent):
            raise self._error(event, "a list or mapping cannot be a key")
        key = self._value(event)
        if not isinstance(key, str):
            name = event.value if isinstance(event, events.ScalarEvent) else str(key)
            raise self._error(event, f"the key {name or 'null'} is no text: put it in quotes")
        return key

    def _scalar(self, event: Any) -> Any:
        text, tag = event.value, event.tag
        if tag is None:
            return self._plain(event, text) if event.implicit[0] else text
        if tag in ("!", f"{_CORE}str"):
            return text
        type_ = _TYPES.get(tag.removeprefix(_CORE))
        if type_ is None or not tag.startswith(_CORE):
            raise self._error(event, f"{tag}: unknown tag: delete it")
        value = self._plain(event, text)
        if type_ is float and type(value) is int:
            value = float(value)
        if type(value) is not type_:
            raise self._error(event, f"{_shortened(text)} is no !!{tag.removeprefix(_CORE)}")
        return value

    def _plain(self, event: Any, text: str) -> Any:
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in _FIRST_OF_NUMBERS:
            return text
        if _INTEGER.fullmatch(text):
            if len(text) > MOST_DIGITS:
                raise self._error(event, f"{_shortened(text)} has more than {MOST_DIGITS} digits")
            return int(text, 0) if text[1:2] in ("o", "x") else int(text)
        if _FLOAT.fullmatch(text):
            number = float(text)
            if math.isinf(number):
                raise self._error(event, f"{_shortened(text)} is too large for a number")
            return number
        return text


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_copy(child) for child in value]
    return value


def _shortened(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
