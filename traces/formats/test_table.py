"""Text and tables as tools, editors and spreadsheets save them."""

import gzip

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.formats import hypatia, leoem, leoreplayer, mahimahi, ping_log
from leogym.traces.formats.source import Source
from leogym.traces.formats.table import Table
from leogym.traces.formats.tally import Tally

MARK = b"\xef\xbb\xbf"


def _table(tmp_path, text):
    file = tmp_path / "x.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    table = Table(file)
    return table, [
        [table.decimal(number, name, cell, -1e9, 1e9) for name, cell in zip(table.header, cells, strict=True)]
        for number, cells in table.cells()
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2.5\n3,-4\n",
        MARK + b"a,b\r\n1,2.5\r\n3,-4\r\n",
        "a;b\n1;2,5\n3;-4\n",
        "a;b\n1;2.5\n3;-4\n",
        "a\tb\n1\t2,5\n3\t-4\n",
        '"a","b"\n"1","2.5"\n"3","-4"\n',
        '"a";"b"\n"1";"2,5"\n"3";"-4"\n',
        "sep=;\na;b\n1;2,5\n3;-4\n",
        "a,b,,\n1,2.5,,\n\n3,-4\n,,,\n\n",
        " a , b \n 1 , 2.5 \n3, -4\n",
        "a;b;\n1;2,5;\n3;-4;\n;;\n",
    ],
)
def test_a_table_is_the_same_however_it_was_saved(tmp_path, text):
    table, values = _table(tmp_path, text)
    assert table.header == ["a", "b"]
    assert values == [[1, 2.5], [3, -4]]


@pytest.mark.parametrize("cell", ["", " ", "NaN", "nan", "NA", "N/A", "null", "None", "-", "#N/A", '""'])
def test_a_cell_without_a_value_is_unknown(tmp_path, cell):
    _, values = _table(tmp_path, f"a,b\n1,{cell}\n")
    assert values[0][0] == 1
    assert np.isnan(values[0][1])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "a,b\n0,0,30,5\n",
            r":2: row: must have 2 columns, not 4: with decimal commas, separate the columns by",
        ),
        ("a;b\n1;2,5\n3;4.5\n", r":3: b: has the decimal mark '\.', while line 2 has ','"),
        ("a;b\n1;1.234,5\n", r":2: b: must be a number"),
        ('a,b\n1,"2,5"\n', r":2: b: must be a number .* not '2,5'"),
        ('a,b\n1,"2\n', r":2: row: has a quote that is not closed"),
        ("a,b\n1,inf\n", r":2: b: must be a number"),
        ("\n\n", r":2: file: every line is blank"),
        ("\n,,\n", r":1: header: is missing: every line is blank"),
        (b"a,b\n1,\xe9\n", r":2: file: not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16"), r":1: file: UTF-16 text: save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), r":1: file: holds NUL bytes: not text"),
        ("a,b\n1,2\n\0\0\0\0", r":3: file: holds NUL bytes: not text, or cut off by a crash"),
        (gzip.compress(b"a,b\n", mtime=0), r":1: file: is gzip: unpack it with gunzip"),
        (b"PK\x03\x04\n", r":1: file: is a ZIP archive or a spreadsheet: unpack it, or save it as CSV"),
    ],
)
def test_an_ambiguous_or_unreadable_table_is_refused_by_line_and_rule(tmp_path, text, error):
    with pytest.raises(InputError, match=error):
        _table(tmp_path, text)


def _values(series):
    return series.up.delay_ns.tolist(), series.up.bps.tolist(), series.period_ns


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda path: mahimahi.read(path, path, (20, 20), 1), "1\n2\n5\n"),
        (lambda path: hypatia.read(path, 100.0), "0,40000000\n100000000,41000000.5\n"),
        (lambda path: leoreplayer.read(path, None, None, 100.0), "20\n21\n"),
        (lambda path: leoem.read(path, 100.0)[0], "0$[-1, 5, -2]$3$[0.002, 0.003]$0.005\n"),
    ],
)
def test_a_mark_windows_line_ends_and_blank_lines_at_the_end_change_nothing(tmp_path, read, text):
    plain, saved = tmp_path / "plain", tmp_path / "saved"
    plain.write_text(text)
    saved.write_bytes(MARK + text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    assert _values(read(saved)) == _values(read(plain))


def test_a_ping_log_may_have_a_mark_and_windows_line_ends(tmp_path):
    line = "[1764000000.02] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=63 time=20.0 ms"
    (tmp_path / "x").write_bytes(MARK + line.encode() + b"\r\n")
    assert ping_log.read(tmp_path / "x").rtt_ns.tolist() == [20e6]


def test_hypatias_times_may_have_semicolons_and_decimal_commas(tmp_path):
    (tmp_path / "x").write_text("0;29423137,75\n100000000;30000000\n")
    assert hypatia.read(tmp_path / "x", 100.0).up.delay_ns.tolist() == [14_711_569, 15_000_000]


def test_rows_leave_out_blank_lines_at_the_end_only(tmp_path):
    (tmp_path / "x").write_text("a\n\n b \n\n \n")
    assert list(Source(tmp_path / "x").rows()) == [(1, "a"), (2, ""), (3, "b")]


def test_a_tally_counts_by_kind_in_one_line():
    tally = Tally("probes")
    assert tally.notes("x") == []
    tally.total = 1200
    for line in (7, 9):
        tally.add("have an RTT of 0: not measured", line)
    tally.add("are lost", None, 1)
    tally.add("are answered twice", None, 0)
    tally.add_line("warn of something", 3)
    tally.remark("the clock stepped")
    assert tally.notes("x") == [
        "x: the clock stepped",
        "x: 2 of 1,200 probes have an RTT of 0: not measured (the first in line 7); "
        "1 of 1,200 probes is lost; 1 line warns of something (line 3)",
    ]


def test_zeros_among_leoreplayers_delays_are_not_measured(tmp_path):
    (tmp_path / "delay").write_text("0\n20\n0\n21\n")
    tally = Tally("delays")
    series = leoreplayer.read(tmp_path / "delay", None, None, 100.0, tally)
    assert (series.up.delay_ns // 10**6).tolist() == [20, 20, 20, 21]
    assert tally.notes("x") == ["x: 2 of 4 delays are 0: not measured (the first in line 1)"]
    (tmp_path / "delay").write_text("0\n0\n")
    with pytest.raises(InputError, match=r"delay: delay_ms: is 0 in every row: not measured"):
        leoreplayer.read(tmp_path / "delay", None, None, 100.0)
    # In an export it is a rounded delay.
    exported = leoreplayer.read(tmp_path / "delay", None, None, 100.0, exported=True)
    assert exported.up.delay_ns.tolist() == [1, 1]


@pytest.mark.parametrize(("last_ms", "how"), [(20, "repeated"), (500, "cut"), (100, "")])
def test_a_bandwidth_file_that_is_cut_or_repeated_to_the_delays_is_told(tmp_path, last_ms, how):
    (tmp_path / "delay").write_text("20\n" * 10)
    (tmp_path / "bw").write_text(f"{last_ms}\n")
    tally = Tally("delays")
    leoreplayer.read(tmp_path / "delay", tmp_path / "bw", None, 100.0, tally)
    remark = f"period: the {last_ms} ms of {tmp_path / 'bw'} are {how} to the delays' 100 ms"
    assert tally.remarks == ([remark] if how else [])
