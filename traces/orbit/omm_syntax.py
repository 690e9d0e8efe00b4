"""The four syntaxes of orbit mean-elements messages (CCSDS 502.0-B-3): CSV, JSON, XML and KVN.

A reader yields a record per satellite: the place for messages, and the values by keyword, as text. Keywords
that CelesTrak and Space-Track add are records' keywords, too. Units follow their value: ``15.05 [rev/day]``.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from xml.parsers import expat

from leogym.common.errors import InputError

Record = tuple[str, dict[str, str]]
Reader = Callable[[str, str], Iterator[Record]]

KEYWORDS = ("EPOCH", "MEAN_MOTION")
"""Keywords that every record has."""

_VERSION = "CCSDS_OMM_VERS"
_USER = "USER_DEFINED"
_DELIMITERS = (",", ";", "\t")
_PAIR = re.compile(r"([A-Z][A-Z0-9_]*)\s*=\s*(.*)", re.ASCII)
_JSON_START = re.compile(r'\s*(\[|\{\s*"[A-Z])')
_YAML_BRACKET = re.compile(r"\s*\[\s*[^\s{\]]")  # a list of anything but objects
_HEAD_CHARS = 4096


def reader(text: str) -> Reader | None:
    """Return the reader of a text by its first lines, or None if it is no OMM."""
    head = text[:_HEAD_CHARS].lstrip()
    if head.startswith("<"):
        return from_xml
    if _JSON_START.match(head) and not _YAML_BRACKET.match(head):
        return from_json
    first, *further = head.split("\n") if head else [""]
    if _delimiter(first) is not None:
        return from_csv
    pairs = [line for line in (first, *further) if line.strip() and not line.startswith("COMMENT")]
    return from_kvn if pairs and _PAIR.match(pairs[0].strip()) else None


def _columns(line: str, delimiter: str) -> list[str]:
    return [column.strip().strip('"') for column in line.split(delimiter)]


def _delimiter(line: str) -> str | None:
    return next((mark for mark in _DELIMITERS if set(KEYWORDS) <= set(_columns(line, mark))), None)


def from_csv(text: str, source: str) -> Iterator[Record]:
    """Yield a record per row below the header."""
    skipped = len(text) - len(text.lstrip())
    blank_lines = text[:skipped].count("\n")
    lines = [line.rstrip(" \r") for line in text[skipped:].split("\n")]
    delimiter = _delimiter(lines[0]) or ","
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        header = [column.strip() for column in next(rows)]
        for column in header:
            if header.count(column) > 1:
                raise InputError(f"{source}:{blank_lines + 1}: {column}: is the name of two columns")
        for row in rows:
            if not any(value.strip() for value in row):
                continue
            place = f"{source}:{blank_lines + rows.line_num}"
            if len(row) != len(header):
                raise InputError(
                    f"{place}: row: must have {len(header)} fields, as the header, not {len(row)}"
                )
            yield place, dict(zip(header, map(str.strip, row), strict=True))
    except csv.Error as error:
        raise InputError(f"{source}:{blank_lines + rows.line_num}: row: is not CSV: {error}") from None


def from_json(text: str, source: str) -> Iterator[Record]:
    """Yield a record per object of an array; a single object is an array of one."""
    try:
        # Numbers stay text: they are parsed once, as those of the other syntaxes.
        data = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_no_duplicates
        )
    except json.JSONDecodeError as error:
        raise InputError(f"{source}:{error.lineno}: file: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: file: is not JSON: {error}") from None
    for number, fields in enumerate(data if isinstance(data, list) else [data], start=1):
        place = f"{source}: record {number}"
        if not isinstance(fields, dict):
            raise InputError(f"{place}: must be an object with the keywords of an OMM")
        for key, value in fields.items():
            if value is not None and not isinstance(value, str):
                raise InputError(f"{place}: {key[:40]!r}: must be text or a number")
        yield place, {key: (value or "").strip() for key, value in fields.items()}


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has {twice[:40]!r} twice")
    return fields


def from_kvn(text: str, source: str) -> Iterator[Record]:
    """Yield a record per message; each but the first must start with its version."""
    fields: dict[str, str] = {}
    place = ""
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.strip()
        if not words or words.startswith("COMMENT"):
            continue
        pair = _PAIR.fullmatch(words)
        if pair is None:
            raise InputError(f"{source}:{number}: line: must be KEYWORD = VALUE, not {words[:40]!r}")
        key, value = pair[1], pair[2].strip()
        if key == _VERSION and fields:
            yield place, fields
            fields = {}
        if key in fields:
            raise InputError(
                f"{source}:{number}: {key}: is there twice in one message: each starts with {_VERSION}"
            )
        place = place if fields else f"{source}:{number}"
        fields[key.removeprefix(f"{_USER}_")] = value
    if fields:
        yield place, fields


def from_xml(text: str, source: str) -> Iterator[Record]:
    """Yield a record per ``segment``. Document types, and with them entities, are refused."""
    records: list[Record] = []
    parser = expat.ParserCreate("UTF-8")
    parser.buffer_text = True
    open_elements: list[str] = []
    fields: dict[str, str] | None = None
    place, value, unit, key, is_leaf = "", "", "", "", False

    def refuse_doctype(name: str, *_: object) -> None:
        if name.lower() == "html":
            refuse_page()
        raise InputError(f"{source}:{parser.CurrentLineNumber}: DOCTYPE: an OMM has none")

    def refuse_page() -> NoReturn:
        rule = "is a web page, such as a site's answer to a wrong request, and no catalogue"
        raise InputError(f"{source}:{parser.CurrentLineNumber}: file: {rule}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal fields, place, value, unit, key, is_leaf
        name = tag.rpartition(":")[2]
        if not open_elements and name.lower() == "html":
            refuse_page()
        if not open_elements and name not in ("ndm", "omm"):
            raise InputError(
                f"{source}:{parser.CurrentLineNumber}: {name[:40]!r}: must be ndm or omm, the root of an OMM"
            )
        open_elements.append(name)
        if name == "segment":
            fields, place = {}, f"{source}:{parser.CurrentLineNumber}"
        key = attributes.get("parameter", "") if name == _USER else name
        value, unit, is_leaf = "", attributes.get("units", ""), True

    def text_of(data: str) -> None:
        nonlocal value
        value += data

    def end(tag: str) -> None:
        nonlocal fields, is_leaf
        name = open_elements.pop()
        if name == "segment" and fields is not None:
            records.append((place, fields))
            fields = None
        elif is_leaf and fields is not None and key != "COMMENT":
            if key in fields:
                raise InputError(
                    f"{source}:{parser.CurrentLineNumber}: {key[:40]}: is there twice in one segment"
                )
            fields[key] = f"{value.strip()} [{unit}]" if unit else value.strip()
        is_leaf = False

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.CharacterDataHandler = text_of
    parser.EndElementHandler = end
    try:
        parser.Parse(text.strip().encode(), True)
    except expat.ExpatError as error:
        raise InputError(
            f"{source}:{error.lineno}: file: is not XML: {expat.ErrorString(error.code)}"
        ) from None
    return iter(records)
