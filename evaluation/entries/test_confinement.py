"""The seccomp filter of each architecture, interpreted here: one machine runs only its own."""

import re
from pathlib import Path

import pytest

from leogym.evaluation.entries.confinement import (
    ARCHITECTURES,
    CLONE,
    CLONE3,
    CLONE_THREAD,
    DENIED,
    KILL,
    MMAP,
    TGKILL,
    filter_program,
    missing,
)

ALLOW, KILLED, REFUSED, UNKNOWN = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
PID = 4321
HARMLESS = {"x86_64": (0, 1, 9, 202, 231), "aarch64": (63, 64, 222, 98, 94)}
"""read, write, mmap, futex, exit_group."""
HEADERS = {
    "x86_64": "x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "asm-generic/unistd.h",
}

per_machine = pytest.mark.parametrize("machine", ARCHITECTURES)


def answer(
    machine: str, number: int, first: int = 0, fourth: int = 0, architecture: int | None = None
) -> int:
    """Interpret the filter on a system call: classic BPF as far as it uses it."""
    named = ARCHITECTURES[machine] if architecture is None else architecture
    data = {0: number, 4: named, 16: first, 40: fourth}
    lines, at, held = filter_program(machine, PID), 0, 0
    while True:
        operation, if_true, if_false, constant = lines[at]
        at += 1
        match operation:
            case 0x20:
                held = data[constant]
            case 0x06:
                return constant
            case 0x15 | 0x35 | 0x45:
                true = {0x15: held == constant, 0x35: held >= constant, 0x45: bool(held & constant)}
                at += if_true if true[operation] else if_false
            case _:
                raise AssertionError(hex(operation))


@per_machine
def test_denied_calls_are_refused_and_those_that_python_needs_are_not(machine):
    column = list(ARCHITECTURES).index(machine)
    numbers = [both[column] for both in DENIED.values() if both[column] is not None]
    assert len(numbers) == len(set(numbers)) > 60
    assert {answer(machine, number) for number in numbers} == {REFUSED}
    assert {answer(machine, number) for number in HARMLESS[machine]} == {ALLOW}
    assert answer(machine, 0, architecture=0x40000003) == KILLED
    assert answer(machine, CLONE3) == UNKNOWN


@per_machine
def test_threads_are_made_but_no_processes_and_signals_reach_no_other(machine):
    assert answer(machine, CLONE[machine], CLONE_THREAD | 0x100) == ALLOW
    assert answer(machine, CLONE[machine], 17) == REFUSED
    for number in (KILL[machine], TGKILL[machine]):
        assert answer(machine, number, PID) == ALLOW
        assert answer(machine, number, PID + 1) == REFUSED
        assert answer(machine, number, 2**32 - 1) == REFUSED


@per_machine
def test_memory_can_be_mapped_unless_it_is_shared_and_of_no_file(machine):
    shared, private, anonymous = 0x01, 0x02, 0x20
    answers = {
        flags: answer(machine, MMAP[machine], fourth=flags) for flags in (shared, private, 0x22, 0x21, 0x23)
    }
    assert answers == {
        shared: ALLOW,
        private: ALLOW,
        private | anonymous: ALLOW,
        shared | anonymous: REFUSED,
        shared | private | anonymous: REFUSED,  # MAP_SHARED_VALIDATE
    }


def test_x32_calls_are_killed():
    assert answer("x86_64", 0x40000000 | 41) == KILLED


@per_machine
def test_the_numbers_are_those_of_the_kernels_headers(machine):
    header = Path("/usr/include") / HEADERS[machine]
    if not header.is_file():
        pytest.skip(f"{header} is missing (linux-libc-dev)")
    # The generic table has a second name where 32-bit machines take another structure.
    told = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$", header.read_text(), re.MULTILINE)
    known = {name: int(number) for name, number in told}
    column = list(ARCHITECTURES).index(machine)
    ours = {name: both[column] for name, both in DENIED.items()}
    ours |= {"clone": CLONE[machine], "clone3": CLONE3, "kill": KILL[machine], "tgkill": TGKILL[machine]}
    ours |= {"mmap": MMAP[machine]}
    missing_here = {name for name, number in ours.items() if number is None}
    assert not missing_here & known.keys()
    # Old headers lack new calls.
    wrong = {name: number for name, number in ours.items() if name in known and known[name] != number}
    assert wrong == {}
    assert len(known.keys() & ours.keys()) > 60


def test_another_architecture_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert missing() == "the seccomp filter is written for x86_64 and aarch64, not riscv64"
