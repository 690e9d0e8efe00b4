import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.evaluation.entries import confinement, process
from leogym.evaluation.entries.process import Limits, Program, ProgramError, Running, is_program, load
from leogym.results.flow_report import FlowReport

pytestmark = pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))

LIMIT_S = 60.0  # only against hanging
LIMITS = Limits(memory_mb=1024, answer_s=LIMIT_S, decision_cpu_ms=2.0)
REPORT = FlowReport(*map(float, range(1, 1 + len(FlowReport._fields))))
STEADY = "return {'cwnd_packets': 5}"
REPORTS = [REPORT, REPORT._replace(cwnd_packets=99.0)]


def program(body: str, head: str = "") -> Program:
    """Return a program whose `act` has this body."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = f"{head}\nclass Entry:\n    def act(self, report):\n{lines}\n"
    return Program("class", "Entry", text.encode(), 30.0, limits=LIMITS)


def ask(one: Program, asked: int) -> None:
    with Running(one, decisions=asked) as running:
        for _ in range(asked):
            running.act([0, 1], REPORTS)


def failure(one: Program, asked: int = 1) -> str:
    """Return how a program fails."""
    with pytest.raises(ProgramError) as caught:
        ask(one, asked)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 400
    return told


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process and no folder of a program outlives it."""
    # A folder of its own: other tests have programs at the same time.
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert not [one for one in children if b"worker.py" in Path(f"/proc/{one}/cmdline").read_bytes()]


def test_every_flow_has_a_state_of_its_own_and_names_a_window_a_rate_or_both():
    body = "self.n += 1\nreturn {'cwnd_packets': self.n * report.cwnd_packets}"
    counts = program(body)
    counts = replace(counts, data=counts.data.replace(b"    def act", b"    n = 0\n    def act"))
    with Running(counts, decisions=4) as running:
        assert running.act([0, 1], REPORTS) == [(REPORT.cwnd_packets, None), (99.0, None)]
        assert running.act([1], REPORTS[1:]) == [(198.0, None)]
    both = "return {'pacing_mbps': report.rtt_ms, 'cwnd_packets': report.packet_bytes}"
    for body, answer in ((both, (REPORT.packet_bytes, 3.0)), ("return {'pacing_mbps': 0}", (None, 0.0))):
        with Running(program(body), decisions=1) as running:
            assert running.act([7], [REPORT]) == [answer]


def test_only_a_class_that_says_so_knows_its_path(tmp_path):
    body = "return {'cwnd_packets': report.base_rtt_ms, 'pacing_mbps': report.capacity_mbps}"
    curious = program(body)
    assert failure(curious).startswith("AttributeError: report: base_rtt_ms: no such field (nearest: rtt_ms)")
    data = curious.data.replace(b"    def act", b"    knows_path = True\n    def act")
    file = tmp_path / "mine.py"
    file.write_bytes(data)
    informed = load(f"{file}:Entry", LIMITS)
    assert informed.knows_path
    with Running(informed, decisions=1) as running:
        assert running.act([0], [(*REPORT, 45.0, 80.0)]) == [(45.0, 80.0)]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import os; os._exit(7)", "ended with status 7"),
        ("import ctypes; ctypes.string_at(0)", "ended by SIGSEGV"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return {'cwnd_packets': float('nan')}", "ValueError: act: cwnd_packets: is not a number"),
        ("return 0.3", 'TypeError: act: returned 0.3: must return {"cwnd_packets": …} or {"pacing_mbps": …}'),
        ("return {'window': 7}", "TypeError: act: returned {'window': 7}: must return"),
        ("return report.cwnd", "AttributeError: report: cwnd: no such field (nearest: cwnd_packets)"),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("return {'pacing_mbps': 'fast\\nfaster'}", "ValueError: could not convert string to float"),
        ("return bytearray(10 << 30)", "MemoryError"),
        ("import mmap\nreturn len(mmap.mmap(-1, 10 << 30, mmap.MAP_PRIVATE))", "OSError: [Errno 12]"),
        ("import mmap\nreturn len(mmap.mmap(-1, 1 << 20))", "PermissionError: [Errno 1]"),
        ("raise ValueError('a\\nb' * 9999)", "ValueError: a b"),
    ],
)
def test_a_program_that_fails_is_one_line(body, told):
    assert failure(program(body)).startswith(told)


def test_a_failure_names_the_file_and_the_line_of_the_program(tmp_path):
    file = tmp_path / "mine.py"
    file.write_bytes(program("return report.cwnd").data)
    line = 1 + file.read_text().splitlines().index("        return report.cwnd")
    assert failure(load(f"{file}:Entry", LIMITS)).endswith(f" (mine.py:{line})")
    file.write_text("class Entry:\n    def act(self, report) return 1\n")
    with pytest.raises(InputError, match=r"mine\.py:Entry: SyntaxError: .* \(mine\.py:2\)$"):
        load(f"{file}:Entry", LIMITS)


def test_a_program_that_does_not_answer_hangs():
    endless = replace(program("while True: pass"), limits=replace(LIMITS, answer_s=0.5))
    assert failure(endless) == "hangs: no answer within 0.5 s"


def test_a_program_that_does_not_start_hangs(monkeypatch):
    monkeypatch.setattr(process, "START_S", 0.3)
    with pytest.raises(ProgramError, match=r"^hangs: no answer within 0\.3 s$"):
        Running(program("pass", "while True: pass"), decisions=1)


def test_a_program_may_use_torch_whose_libraries_are_larger_than_its_memory():
    body = "return {'cwnd_packets': float(torch.ones(7).sum() * report.rtt_ms)}"
    with Running(replace(program(body, "import torch"), limits=Limits()), decisions=2) as running:
        assert running.act([0, 1], REPORTS) == [(21.0, None), (21.0, None)]


def test_what_a_program_prints_goes_nowhere_and_garbage_instead_of_an_answer_is_one_line():
    with Running(program(f"print('x' * 100000); {STEADY}"), decisions=2) as running:
        assert running.act([0, 1], REPORTS) == [(5.0, None)] * 2
    everywhere = """
import os
for number in range(20):
    try:
        os.write(number, b'garbage' * 9)
    except OSError:
        pass
"""
    assert failure(program(everywhere.strip() + "\n" + STEADY)).startswith("answer: garbage")


def test_garbage_that_comes_unasked_is_one_line():
    shout = """
import os, signal
def shout(*_):
    for number in range(3, 20):
        try:
            os.write(number, b'unasked')
        except OSError:
            pass
signal.signal(signal.SIGUSR1, shout)
"""
    with Running(program(STEADY, shout), decisions=2) as running:
        running.act([0], REPORTS[:1])
        os.kill(running._process.pid, signal.SIGUSR1)
        assert select.select([running._answers], [], [], LIMIT_S)[0]
        with pytest.raises(ProgramError, match=r"^answer: garbage: it wrote without being asked"):
            running.act([0], REPORTS[:1])


def test_cpu_time_is_bounded_over_all_decisions(monkeypatch):
    monkeypatch.setattr("leogym.evaluation.entries.process.START_CPU_S", 0)
    assert failure(program(f"sum(range(1_000_000)); {STEADY}"), asked=200) == "used more than 1 s of CPU"


def test_a_program_reaches_neither_the_judges_memory_nor_files_network_or_other_processes(tmp_path):
    secret = tmp_path / "seed"
    secret.write_text("the judge's seed")
    here = Path(__file__)
    attempts = f"""
import ctypes, os, signal, socket, subprocess, pathlib
libc = ctypes.CDLL(None, use_errno=True)
judge = {os.getpid()}
def read(path):
    with open(path, 'rb') as file:
        return file.read(1)
def refused(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), 'refused')
buffer = ctypes.create_string_buffer(8)
class Vector(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
ours, theirs = Vector(ctypes.addressof(buffer), 8), Vector({id(secret)}, 8)
tries = dict(
    memory=lambda: read(f'/proc/{{judge}}/mem'),
    arguments=lambda: read(f'/proc/{{judge}}/cmdline'),
    environment=lambda: read(f'/proc/{{judge}}/environ'),
    peek=lambda: refused(libc.process_vm_readv(judge, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)),
    trace=lambda: refused(libc.ptrace(16, judge, 0, 0)),
    file=lambda: read({str(secret)!r}),
    source=lambda: read({str(here)!r}),
    passwords=lambda: read('/etc/shadow'),
    listing=lambda: os.listdir({str(tmp_path)!r}),
    write=lambda: pathlib.Path({str(tmp_path / "written")!r}).write_text('x'),
    own=lambda: pathlib.Path('note').write_text('x'),
    spool=lambda: pathlib.Path('/tmp/note').write_text('x'),
    remove=lambda: os.remove({str(secret)!r}),
    mode=lambda: os.chmod({str(secret)!r}, 0o777),
    times=lambda: os.utime({str(secret)!r}),
    network=lambda: socket.socket(),
    local=lambda: socket.socketpair(),
    fork=lambda: os.fork() or os._exit(0),
    program=lambda: subprocess.run(['/bin/true']),
    replace=lambda: os.execv('/bin/true', ['true']),
    kill=lambda: os.kill(judge, 0),
    hidden=lambda: os.memfd_create('x'),
    limits=lambda: __import__('resource').setrlimit(__import__('resource').RLIMIT_AS, (1 << 40, 1 << 40)),
)
"""
    body = """
done = []
for name, attempt in tries.items():
    try:
        attempt()
        done.append(name)
    except (OSError, ValueError):
        pass
if os.environ.keys() - {'PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_CTYPE', 'PYTHONHASHSEED', 'OMP_NUM_THREADS',
                        'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'}:
    done.append('variables')
raise RuntimeError(f'{len(tries)} tried, done: {done}')"""
    assert failure(program(body.strip(), attempts)).startswith("RuntimeError: 23 tried, done: [] (entry.py:")
    assert secret.read_text() == "the judge's seed"


def test_threads_and_numpy_work_in_a_confined_process():
    body = """
import threading
import numpy as np
found = []
one = threading.Thread(target=lambda: found.append(float(np.linalg.solve(np.eye(3), np.ones(3)).sum())))
one.start(); one.join()
return {'cwnd_packets': found[0]}"""
    with Running(program(body.strip()), decisions=2) as running:
        assert running.act([0, 1], REPORTS) == [(3.0, None)] * 2


def test_a_program_ends_with_its_judge():
    script = (
        "import sys, os; from leogym.evaluation.entries.test_process import program, Running;"
        "one = Running(program('while True: pass'), 1); print(one._process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    try:
        left = os.pidfd_open(int(done.stdout))
    except ProcessLookupError:
        return
    try:
        assert select.select([left], [], [], LIMIT_S)[0], "the program still runs"
    finally:
        os.close(left)


def test_a_class_sets_its_interval(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    interval_ms = 20\n    act = print\n")
    assert load(f"{file}:Mine").interval_ms == 20.0
    assert is_program(f"{file}:Mine")
    assert is_program("target/release/libmine.so")
    assert not is_program("runs/x/policy")


@pytest.mark.parametrize(
    ("text", "named", "told"),
    [
        ("class Mine:\n    pass\n", "Mine", "no class of this name with act"),
        ("import nothing_like_this\n", "Mine", "ModuleNotFoundError"),
        ("class Mine:\n    interval_ms = 0\n    act = print\n", "Mine", "interval_ms: 0: must be from 0.1"),
        ("class Mine:\n    act = print\n", "", "must be FILE.py:Class or FILE.so"),
    ],
)
def test_a_file_that_is_no_program_is_refused_in_one_line(tmp_path, text, named, told):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InputError, match=told):
        load(f"{file}:{named}" if named else str(file))
    with pytest.raises(InputError, match="cannot be read"):
        load(f"{tmp_path}/absent.py:Mine")
