import sys

from studies.vegas import __main__ as study


def test_a_flow_leaves_slow_start_in_one_of_two_rounds_by_the_phase_of_its_start(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["vegas", "--starts", "4"])
    assert study.main() == 0
    *rows, last = capsys.readouterr().out.splitlines()
    windows = [int(row.split()[-1]) for row in rows]
    early = [packets for packets in windows if packets < study.LATE_PACKETS]
    assert set(early) <= {1275, 1276, 1277}
    assert 0 < len(early) < 4
    assert last == f"late exits: simulator {4 - len(early)} of 4"
