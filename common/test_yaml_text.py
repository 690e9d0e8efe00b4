import datetime
import math
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leogym.common import yaml_text
from leogym.common.errors import InputError
from leogym.common.yaml_text import YamlError, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # YAML 1.1 reads the first twelve as something else.
        *[("010", 10), ("-007", -7), ("08", 8), ("0o10", 8), ("1e5", 1e5), ("1.5e3", 1500.0), ("5e-5", 5e-5)],
        *[("1:30", "1:30"), ("1:30.5", "1:30.5"), ("0b1", "0b1"), ("1_000", "1_000"), ("0x_1", "0x_1")],
        *[(word, word) for word in ("yes", "No", "on", "OFF", "y", "n", "=", "<<")],
        *[(date, date) for date in ("2026-01-02", "2026-01-02T03:04:05Z", "2024-99-99")],
        *[("0x1F", 31), ("+1", 1), ("-0", 0), (".5", 0.5), ("5.", 5.0), ("-2.E3", -2000.0), ("1e-400", 0.0)],
        *[(".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf), ("inf", "inf"), ("nan", "nan")],
        *[("true", True), ("TRUE", True), ("False", False), ("tRUE", "tRUE")],
        *[("null", None), ("NULL", None), ("~", None), ("", None), ("nULL", "nULL")],
        *[(text, text) for text in ("0o8", "0O1", "0xg", ".", "+", ".e1", "1e", "1.2.3", "--1", "-0x1")],
        *[("'010'", "010"), ('"1e5"', "1e5"), ("! 010", "010"), ("!!str 010", "010"), ("!!float 010", 10.0)],
    ],
)
def test_scalars_are_those_of_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    read = parse(f"a: {text}", "x.yaml")["a"]
    assert (type(read), read) == (type(value), value)


def test_not_a_number_is_a_number_of_yaml() -> None:
    assert all(math.isnan(value) for value in parse("[.nan, .NaN, .NAN]", "x.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "x.yaml:3: a: is also in line 1: delete one of the two"),
        ("x:\n- y: {b: 1,\n     b: 2}", "x.yaml:3: x.0.y.b: is also in line 2: delete one of the two"),
        ("'a': 1\n\"a\": 1", "x.yaml:2: a: is also in line 1"),
        ("a: 1\n---\nb: 2", "x.yaml:2: a second document starts here: a file must hold one"),
        (
            "a:\n\tb: 1",
            "x.yaml:2: not YAML: found character that cannot start any token: a tab: indent with bl",
        ),
        ("a: &a\n  b: *a", "x.yaml:2: a.b: *a: is part of what &a stands for"),
        ("a: *b", "x.yaml:1: a: *b: there is no &b above"),
        ("a:\n  1: b", "x.yaml:2: a: the key 1 is no text: put it in quotes"),
        ("true: b", "x.yaml:1: the key true is no text: put it in quotes"),
        ("~: b", "x.yaml:1: the key ~ is no text: put it in quotes"),
        ("[a]: b", "x.yaml:1: a list or mapping cannot be a key"),
        ("? {a: b}\n: c", "x.yaml:1: a list or mapping cannot be a key"),
        ("a: !!python/name:os.system x", "unknown tag: delete it"),
        ("a: !mine {b: 1}", "x.yaml:1: a: !mine: unknown tag: delete it"),
        ("a: !!int 1.5", "x.yaml:1: a: 1.5 is no !!int"),
        ("a: !!omap [b: 1]", "unknown tag: delete it"),
        ("%YAML 1.1\n---\na: 010", "x.yaml:1: %YAML 1.1: LeoGym reads YAML 1.2"),
        ("a: 1e999", "x.yaml:1: a: 1e999 is too large for a number"),
        ("a: " + "1" * 5000, "x.yaml:1: a: 11111111111111111111… has more than 300 digits"),
        ("a:\n- [1", "x.yaml:3: not YAML: did not find expected ',' or ']'"),
        ("a: b: c", "x.yaml:1: not YAML: mapping values are not allowed in this context"),
        ("a: 1\nb: \x01", "x.yaml:2: not YAML: control characters are not allowed"),
        ("a: 1\nb: \udcff", "x.yaml:2: not UTF-8 text"),
        ("<<: 1", "x.yaml:1: <<: must be a mapping or a list of mappings"),
    ],
)
def test_a_text_that_is_no_single_yaml_document_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse(text, "x.yaml")
    assert message in str(caught.value)
    assert str(caught.value) == f"{str(caught.value).partition(': ')[0]}: {caught.value.rule}"
    assert len(str(caught.value).splitlines()) == 1


_BOMB = "".join(
    f"{name}: &{name} [" + f"*{above}," * 9 + "]\n" for above, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("flows:\n" + "- {scheme: cubic, start_s: 0, route: [l]}\n" * 30_000, "200,000 values"),
        ("a: &a [1,1,1,1,1,1,1,1,1]\n" + _BOMB, "200,000 values"),
        (f"a: &a {'x' * 1000}\nb: [{'*a,' * 30_000}]", "200,000 values"),
        ("[" * 100_000, "64 lists and mappings within each other"),
        ("[a: " * 100_000, "64 lists and mappings within each other"),
        ("- " * 100_000, "64 lists and mappings within each other"),
        ("".join(" " * depth + "a:\n" for depth in range(1000)), "64 lists and mappings within each other"),
        ("#" * (yaml_text.MOST_BYTES + 1), "8,388,608 bytes"),
    ],
    ids=["flows", "aliases", "aliases of a text", "brackets", "pairs", "dashes", "indentation", "bytes"],
)
def test_a_file_that_is_too_large_is_refused_within_2_s(text: str, bound: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    begun_s = time.process_time()
    with pytest.raises(InputError, match=rf"x\.yaml:.*more than (the )?{bound}"):
        yaml_text.read(path)
    assert time.process_time() - begun_s < 2.0


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xff\xfea", ":1: file: UTF-16 text: save it as UTF-8"),
        (b"a: 1\nb: \xe9", ":2: file: not UTF-8 text"),
        (None, ": cannot be read: Is a directory"),
    ],
    ids=["UTF-16", "Latin-1", "folder"],
)
def test_a_file_that_is_no_text_is_refused(data: bytes | None, line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.mkdir() if data is None else path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        yaml_text.read(path)
    assert str(caught.value) == f"{path}{line}"


@pytest.mark.parametrize("data", [b"", b"\n# nothing\n", b"---\n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_content(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    assert yaml_text.read(path) is None


def test_a_mark_and_carriage_returns_are_not_part_of_the_values(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: b\r\nc: |\r\n  d\r\n  e\r\n")
    assert yaml_text.read(path) == {"a": "b", "c": "d\ne\n"}


def test_an_alias_is_a_copy() -> None:
    data = parse("a: &a {b: [1]}\nc: [*a, *a]\n", "x.yaml")
    assert data == {"a": {"b": [1]}, "c": [{"b": [1]}, {"b": [1]}]}
    data["c"][0]["b"].append(2)
    assert data == {"a": {"b": [1]}, "c": [{"b": [1, 2]}, {"b": [1]}]}


def test_a_merge_key_adds_the_keys_that_its_mapping_lacks() -> None:
    assert parse("x: &x {a: 1, b: 1}\ny: {b: 2, <<: *x}", "x.yaml")["y"] == {"a": 1, "b": 2}
    assert parse("<<: [{a: 1}, {a: 2, b: 2}]", "x.yaml") == {"a": 1, "b": 2}
    assert parse("'<<': 1", "x.yaml") == {"<<": 1}


def test_json_is_yaml() -> None:
    assert parse('{"a":1,"b":[true,null,-0.5e-3,"c\\/d\\n"]}', "x.json") == {
        "a": 1,
        "b": [True, None, -5e-4, "c/d\n"],
    }


_TEXTS = st.one_of(
    st.from_regex(r"[-+]?[0-9._:xob]{1,6}([eE][-+]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(
        ["yes", "on", "~", "null", ".inf", "2026-01-02", "<<", "=", "", " a", "a: b", "# a", "y"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
_SCALARS = st.one_of(_TEXTS, st.integers(), st.floats(allow_nan=False), st.booleans(), st.none())
_DATA = st.recursive(
    _SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXTS, inner, max_size=3))
)


@settings(max_examples=30)
@given(_DATA, st.sampled_from([None, True, False]))
@example(
    ["010", "0o10", "1e5", "1.5e3", "08", "1:30", "yes", "2026-01-02", "5e-5", ".5", "0x1F", "1_000"], None
)
@example({"1e5": 1e5, "0o10": {"<<": "<<"}}, False)
def test_what_is_written_reads_back_the_same_here_and_in_yaml_1_1(data: object, style: bool | None) -> None:
    text = yaml_text.dump(data, default_flow_style=style)
    assert parse(text, "x.yaml") == data
    assert yaml.safe_load(text) == data


def test_only_plain_data_is_written() -> None:
    with pytest.raises(yaml.representer.RepresenterError):
        yaml_text.dump({"a": Path("b")})
    assert parse(yaml_text.dump({"a": datetime.date(2026, 1, 2)}), "x.yaml") == {"a": "2026-01-02"}
