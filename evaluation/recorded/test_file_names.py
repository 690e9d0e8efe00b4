import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.evaluation import cli
from leogym.evaluation.recorded import file_names

ODD = [
    "/data/a b.csv",
    "/data/a_b.csv",
    "a/b",
    "a_b",
    "a--b",
    "a",
    "b",
    "..",
    ".",
    "-",
    "",
    "ä",
    "x" * 300,
    "a~b",
]


@given(st.lists(st.text(max_size=80), min_size=1, max_size=3))
def test_a_name_is_one_short_file_name(parts):
    name = file_names.joined(*parts)
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith((".", "-"))
    assert len(f".series--{name}--0.parquet.tmp".encode()) <= 255


def test_odd_names_never_meet():
    pairs = [*itertools.product(ODD, repeat=2), *((one,) for one in ODD)]
    assert len({file_names.joined(*parts).casefold() for parts in pairs}) == len(pairs)


def test_plain_names_stay_as_they_are():
    assert file_names.joined("leo-single", "sd-ny-bp", "cubic", "0") == "leo-single--sd-ny-bp--cubic--0"


@pytest.mark.parametrize("figures", ["[sharing, fairness, tradeoff]", "[tradeoff, timeline]"])
def test_scenarios_named_for_files_are_drawn_and_read_back(tmp_path, figures):
    for name in ("a b.csv", "a_b.csv"):  # a suite may only name existing traces
        (tmp_path / name).touch()
    suite = tmp_path / "odd.yaml"
    suite.write_text(
        "name: odd\ntitle: odd\nrepeats: 1\nschemes: [cubic]\n"
        f"figures: {figures}\n"
        f"grid: {{path: [{tmp_path}/a b.csv, {tmp_path}/a_b.csv]}}\n"
        "scenario:\n  name: $path\n  duration_s: 2\n  links: {l: {rate_mbps: 5, delay_ms: 5}}\n"
        "  flows: [{scheme: $scheme, route: [l]}, {scheme: $scheme, route: [l]}]\n"
    )
    out = tmp_path / "out"
    assert cli.run([str(suite), "--out", str(out)]) == 0
    drawn = [path.name for path in (out / "figures").iterdir()]
    # One figure per scenario, and one of fairness for both.
    assert len(drawn) == (5 if "sharing" in figures else 4)
    assert len(list((out / "series").rglob("*.parquet"))) == 4
