"""Reading a shell's begin from its log, and describing how processes ended."""

import json
from types import SimpleNamespace

import pytest

from leogym.kernel_bridge.inside import shell_logs
from leogym.kernel_bridge.inside.ending import describe_exit
from leogym.kernel_bridge.inside.shell_logs import read_begin_ns


def test_a_log_tells_when_its_shell_began_only_once_its_header_is_whole(tmp_path, monkeypatch):
    clocks = SimpleNamespace(monotonic_ns=lambda: 5_000_000_000, time_ns=lambda: 2_000_000_000)
    monkeypatch.setattr(shell_logs, "time", clocks)
    log = tmp_path / "link.log"
    assert read_begin_ns(log) is None, "mm-link has not opened it yet"
    header = "# mahimahi mm-link (Uplink) [x] > y\n# queue: droptail [packets=50]\n# init timestamp: 1000\n"
    for text in ("", header, header + "# base timestamp: 3"):
        log.write_text(text)
        assert read_begin_ns(log) is None
    log.write_text(header + "# base timestamp: 33\n40 # 1504\n")
    assert read_begin_ns(log) == 4_033_000_000, "1,033 ms after 1970, on the monotonic clock"


def test_mm_leos_log_tells_it_in_its_first_line(tmp_path):
    log = tmp_path / "leo.log"
    log.write_text("# " + json.dumps({"began_monotonic_ns": 77})[:-4])
    assert read_begin_ns(log) is None
    log.write_text("# " + json.dumps({"began_monotonic_ns": 77}) + "\n")
    assert read_begin_ns(log) == 77


@pytest.mark.parametrize(
    ("status", "expected"),
    [(-9, "was ended by SIGKILL"), (-15, "was ended by SIGTERM"), (3, "ended with exit status 3")],
)
def test_how_a_process_ended_is_told_in_words(status, expected):
    assert describe_exit(status) == expected
