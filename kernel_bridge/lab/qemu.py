"""Start, save and resume guests through QEMU's command line and monitor.

Virtual time is a count of instructions (``-icount``): the guest sees neither the host's clock nor its load,
and idle time passes at once. Nothing asynchronous may reach the guest: devices complete a request within its
instruction (``ioeventfd=off``), and random numbers are seeded.
"""

import ctypes
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from leogym.kernel_bridge.inside.guest_boot import JOB, PROGRESS, RESULT, STOP_PORT
from leogym.kernel_bridge.lab.image import Image

ICOUNT = "shift=0,sleep=off,align=off"
"""Virtual time: an instruction is a nanosecond, and idle time passes at once."""
_TAKE_TURNS = ",rr=record,rrfile=/dev/null"
"""Recording to /dev/null makes the guest's thread and QEMU's main loop take turns. Otherwise the main loop,
which advances the clock when the guest is idle, may run after the guest has halted but before its
instructions are counted, and count them twice: on a busy machine one short run in ten differed by ns."""
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_SLACK_NS = 10_000_000_000
_PROMPT = "(qemu) "
_started = itertools.count()

QEMU = "qemu-system-x86_64"
CPU = "max,-rdseed,-erms,-smap,-smep"
"""Without features that are slow to emulate: byte-wise copying (erms), and guards that end a translated block
at every access to user memory (smap, smep)."""
MEMORY_MIB = 512
_KERNEL_OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "oops=panic", "reboot=t"),
    # Only seeded random numbers, and always the same addresses. QEMU translates a program again at others.
    *("random.trust_cpu=on", "nokaslr", "norandmaps"),
    # IPv6 neighbour discovery would put packets into the queues. Runs of programs turn IPv6 on.
    "ipv6.disable_ipv6=1",
    # Skip self-tests, calibration, and guards against other tenants.
    *("cryptomgr.notests", "tsc=reliable", "no_timer_check", "mitigations=off"),
    # The kernel walks the whole table of connections to list them, as tcp_log asks it to 100 times a second.
    "thash_entries=256",
    "initcall_blacklist=init_evm,init_ima,load_system_certificate_list",
)


class GuestError(RuntimeError):
    """The guest failed; the message has the serial log's path."""


def missing() -> str | None:
    """Return one line if this machine cannot boot an image, or None."""
    if shutil.which(QEMU) is None:
        return f"lab: {QEMU} is not installed: scripts/lab.sh installs it, or install qemu-system-x86"
    return None


def version() -> str:
    """Return QEMU's version and machine settings: a snapshot may not work with others."""
    output = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout
    return " ".join([output.splitlines()[0], CPU, str(MEMORY_MIB), *_KERNEL_OPTIONS])


class Guest:
    """A QEMU process and its folder of files: serial.log, progress, result, qemu.log."""

    def __init__(
        self, image: Image, folder: Path, *, seed: int, job: Path, snapshot: Path | None = None
    ) -> None:
        """Start the guest; it ends with this process.

        ``job`` is the file with its job. ``snapshot`` is a saved guest to load instead of booting; it then
        waits for `resume`.
        """
        self.folder = folder
        (folder / "progress").touch()
        command = ["setpriv", "--pdeathsig", "KILL", "--", *_command(image, folder, seed, job)]
        self._is_resumed = snapshot is not None
        with ExitStack() as opened:
            log = opened.enter_context((folder / "qemu.log").open("wb"))
            saved = []
            if snapshot is not None:
                saved = [opened.enter_context(snapshot.open("rb")).fileno()]
                command += ["-incoming", f"fd:{saved[0]}", "-monitor", "stdio"]
                command[command.index(ICOUNT)] += _TAKE_TURNS
            else:
                command += ["-qmp", "stdio"]
            opened.enter_context(_lazy_timers())
            # A separate session keeps a terminal's Ctrl-C away from it.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                pass_fds=saved,
            )
        try:
            # Pin it before it starts threads. They take turns, and on one core each wakes the other at once.
            os.sched_setaffinity(self.process.pid, {_next_core()})
            if snapshot is None:
                self.execute("qmp_capabilities")
            else:
                self._answer()
        except BaseException:
            self.stop()
            raise

    def execute(self, name: str, **arguments: Any) -> Mapping[str, Any]:
        """Return the monitor's answer to a command."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
            self.process.stdin.flush()
            while "return" not in (reply := self._read()):
                if "error" in reply:
                    raise GuestError(f"lab: {QEMU}: {name}: {reply['error']['desc']}: {self.serial}")
        except BrokenPipeError:
            raise self._ended() from None
        return reply["return"]

    def resume(self) -> None:
        """Resume a snapshot.

        Runs use QEMU's human monitor: the machine monitor (QMP), used to save guests, has its own thread,
        which every move of the guest's clock would wake.
        """
        assert self._is_resumed
        while "inmigrate" in self._ask("info status"):
            self._wait_a_little()
        self._ask("cont")
        # Every guest timer needlessly wakes the main loop, QEMU's first thread. A batch thread does not
        # interrupt the guest's when it wakes. A lower priority would starve it, and so the guest, on a busy
        # core.
        os.sched_setscheduler(self.process.pid, os.SCHED_BATCH, os.sched_param(0))

    def save(self, file: Path) -> None:
        """Wait until the guest stops itself, then save it to a file."""
        while self._read().get("event") != "STOP":
            pass
        self.execute("migrate", uri=f"exec:cat >{file}")
        while (status := self.execute("query-migrate").get("status")) != "completed":
            if status == "failed":
                raise GuestError(f"lab: {file}: the guest cannot be saved: {self.serial}")
            self._wait_a_little()

    @property
    def serial(self) -> Path:
        """The log of the guest's console."""
        return self.folder / "serial.log"

    def stop(self) -> None:
        """End the guest and wait for its end."""
        self.kill()
        self.process.communicate()

    def kill(self) -> None:
        """End the guest without waiting; another thread may call this."""
        if self.process.poll() is None:
            self.process.kill()

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        output = ""
        while not output.endswith(_PROMPT):
            if not (more := self.process.stdout.read(1)):
                raise self._ended()
            output += more
        return output

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        return json.loads(line)

    def _wait_a_little(self) -> None:
        # The monitor reports the end of saving or loading only on request.
        try:
            self.process.wait(0.02)
        except subprocess.TimeoutExpired:
            return
        raise self._ended()

    def _ended(self) -> GuestError:
        self.process.wait()
        messages = (self.folder / "qemu.log").read_text(errors="replace").strip().splitlines()
        return GuestError(f"lab: {QEMU}: {messages[-1] if messages else 'it ended'}: {self.serial}")


def _next_core() -> int:
    """Return one of this process's cores, in turn."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[(os.getpid() + next(_started)) % len(cores)]


@contextmanager
def _lazy_timers() -> Iterator[None]:
    """Give processes started in this block a large timer slack, so that events wake them instead of timers.

    QEMU's main loop sleeps at most until the guest's next timer, as if virtual time were real time. But the
    guest's idleness wakes it anyway, so timers only cost time. Children inherit the slack (prctl(2),
    PR_SET_TIMERSLACK).
    """
    libc = ctypes.CDLL(None)
    before = libc.prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)
    libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(_SLACK_NS), 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(before), 0, 0, 0)


def _command(image: Image, folder: Path, seed: int, job: Path) -> list[str]:
    def port(name: str, file: str) -> list[str]:
        return [
            *("-chardev", f"file,id={file},path={folder / file}"),
            *("-device", f"virtserialport,chardev={file},name={name}"),
        ]

    return [
        QEMU,
        # Without HPET the kernel's clock is the time-stamp counter, which is cheap to read.
        *("-M", "q35,hpet=off", "-cpu", CPU, "-m", str(MEMORY_MIB), "-smp", "1"),
        *("-seed", str(seed % 2**32), "-rtc", "base=2026-01-01,clock=vm"),
        *("-icount", ICOUNT),
        *("-nodefaults", "-display", "none", "-no-reboot", "-no-user-config"),
        *("-serial", f"file:{folder / 'serial.log'}"),
        # The guest stops itself at the instruction that writes to this port, so snapshots are identical.
        *("-device", f"pvpanic,ioport={STOP_PORT}", "-action", "panic=pause"),
        *("-fw_cfg", f"name={JOB},file={job}"),
        *("-device", "virtio-serial-pci,ioeventfd=off"),
        *port(PROGRESS, "progress"),
        *port(RESULT, "result"),
        *(
            "-kernel",
            str(image.kernel),
            "-initrd",
            str(image.initramfs),
            "-append",
            " ".join(_KERNEL_OPTIONS),
        ),
    ]
