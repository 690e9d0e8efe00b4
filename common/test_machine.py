import pytest

from leogym.common import machine
from leogym.common.errors import InputError


def test_a_machine_runs_at_least_one_job_and_no_more_than_cores_take_turns_at() -> None:
    assert machine.most_at_a_time(1 << 60) == 1
    assert machine.most_at_a_time(1) == machine.MAX_JOBS_PER_CORE * machine.cores()


def test_more_than_memory_holds_is_refused_with_the_number_it_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: 8_000_000_000)
    monkeypatch.setattr(machine, "cores", lambda: 4)
    machine.require_at_a_time(8, "--workers", 1_000_000_000)
    with pytest.raises(InputError) as caught:
        machine.require_at_a_time(9, "--workers", 1_000_000_000)
    assert str(caught.value) == (
        "--workers: 9: this machine can run at most 8 at a time (4 cores, 8 GB of memory, 1,000 MB each)"
    )


def test_the_memory_of_a_control_group_counts(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("123456789\n")
    monkeypatch.setattr(machine, "_CGROUP_LIMITS", (str(tmp_path / "max"), str(tmp_path / "none")))
    available = machine.memory_bytes()
    monkeypatch.setattr(machine, "_CGROUP_LIMITS", (str(tmp_path / "max"), str(tmp_path / "limit")))
    assert machine.memory_bytes() == 123456789 < available
