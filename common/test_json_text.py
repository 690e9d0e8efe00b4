from pathlib import Path

import pytest

from leogym.common import json_text
from leogym.common.errors import InputError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n"b": {"a": 2},\n"b": 3}', "x.json: 'b': is given twice (lines 2 and 3): delete one"),
        ('{"a": {"a": 1}, "b": {"a": 1, "a": 1}}', "x.json: 'a': is given twice: delete one"),
        ('{"a":\n NaN}', "x.json: NaN: is no number of JSON"),
        ('{"a": [-Infinity]}', "x.json: -Infinity: is no number of JSON"),
        ('{"a": 1e999}', "x.json: 1e999: is too large for a number"),
        ("[" * 100_000, "x.json: not JSON: brackets are nested too deeply"),
        ('{"a": 1,\nb}', "x.json:2: not JSON: Expecting property name enclosed in double quotes"),
        ("", "x.json:1: not JSON: Expecting value"),
        (
            '{"a": ' + "1" * 5000 + "}",
            "x.json: Exceeds the limit (4300 digits) for integer string conversion",
        ),
    ],
)
def test_what_is_not_json_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        json_text.parse(text, "x.json")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


def test_json_is_read_as_the_decoder_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, 1.5, -2e3, "\\u00e4", null, true],\r\n "b": {"a": {}}}')
    assert json_text.read(path) == {"a": [1, 1.5, -2000.0, "ä", None, True], "b": {"a": {}}}
    with pytest.raises(InputError, match="cannot be read"):
        json_text.read(tmp_path / "y.json")
