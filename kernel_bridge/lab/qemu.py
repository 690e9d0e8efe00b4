"""QEMU's command line and its monitor: how a guest is started, kept, and taken up again.

Virtual time is a count of instructions (``-icount``): the guest sees neither the host's clock nor its load,
and idle time passes at once. Nothing else may reach the guest at a time of its own: devices answer in the
instruction that asks (``ioeventfd=off``), and randomness is seeded.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernel_bridge.inside.guest_boot import JOB, PROGRESS, RESULT, STOP_PORT
from kernel_bridge.lab.image import Image

_ICOUNT = "shift=0,sleep=off,align=off"
_TAKE_TURNS = ",rr=record,rrfile=/dev/null"
"""Recording, to nowhere, makes the guest's thread and QEMU's main loop take turns. Without it the main loop,
which moves the clock on when the guest is idle, may look after the guest has halted and before what it has
executed is accounted for: it counts twice. On a busy machine one short run in ten then differed by ns."""
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_SLACK_NS = 10_000_000_000
_PROMPT = "(qemu) "
_started = itertools.count()

QEMU = "qemu-system-x86_64"
_CPU = "max,-rdseed,-erms,-smap,-smep"
"""Without what costs an emulation most: copying byte by byte (erms), and guards that end every block of
instructions which opens user memory (smap, smep)."""
MEMORY_MIB = 512
_KERNEL_OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "oops=panic", "reboot=t"),
    # No randomness but the seeded one, and the same addresses always.
    *("random.trust_cpu=on", "nokaslr"),
    # Neighbours that nobody asked for would be packets in the queues.
    "ipv6.disable=1",
    # What a boot needs not do here: self-tests, calibration, guards against other tenants.
    *("cryptomgr.notests", "tsc=reliable", "no_timer_check", "mitigations=off"),
    "initcall_blacklist=init_evm,init_ima,load_system_certificate_list",
)


class GuestError(RuntimeError):
    """The guest did not come to its end; the message has the serial log's path."""


def missing() -> str | None:
    """Say in one line what this machine lacks to boot an image, or None."""
    if shutil.which(QEMU) is None:
        return f"lab: {QEMU} is not installed: scripts/lab.sh installs it, or install qemu-system-x86"
    return None


def version() -> str:
    """Return QEMU's version and the machine that it makes: what one has kept, another need not understand."""
    told = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout
    return " ".join([told.splitlines()[0], _CPU, str(MEMORY_MIB), *_KERNEL_OPTIONS])


class Guest:
    """A process of QEMU, and its files in a folder: serial.log, progress, result, qemu.log."""

    def __init__(self, image: Image, folder: Path, *, seed: int, job: Path, kept: Path | None = None) -> None:
        """Start it; it ends with this process.

        Args:
            image: what it boots.
            folder: where its files go.
            seed: of its randomness.
            job: the file that it reads its job from.
            kept: a guest that was kept, to be taken up in place of a boot; it waits for `resume`.
        """
        self.folder = folder
        (folder / "progress").touch()
        command = ["setpriv", "--pdeathsig", "KILL", "--", *_command(image, folder, seed, job)]
        self._is_kept = kept is not None
        self._is_to_end = False
        if kept is not None:
            command += ["-incoming", f"exec:cat {kept}", "-monitor", "stdio"]
            command[command.index(_ICOUNT)] += _TAKE_TURNS
        else:
            command += ["-qmp", "stdio"]
        with (folder / "qemu.log").open("wb") as log, _lazy_timers():
            # A session of its own: a terminal's Ctrl-C is this process's to answer.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        # Before it has any thread but the first. They take turns: on one core each wakes the other at once.
        os.sched_setaffinity(self.process.pid, {_next_core()})
        if kept is None:
            self.execute("qmp_capabilities")
        else:
            self._answer()

    def execute(self, name: str, **arguments: Any) -> Mapping[str, Any]:
        """Return the monitor's answer to a command."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
            self.process.stdin.flush()
            while "return" not in (told := self._read()):
                if "error" in told:
                    raise GuestError(f"lab: {QEMU}: {name}: {told['error']['desc']}: {self.serial}")
        except BrokenPipeError:
            raise self._ended() from None
        return told["return"]

    def resume(self) -> None:
        """Let a guest that was kept go on.

        Runs have the monitor for people: the one for programs, with which guests are kept, has a thread of
        its own, and every move of the guest's clock would wake that one, too.
        """
        assert self._is_kept
        while "inmigrate" in self._ask("info status"):
            self._wait_a_little()
        self._ask("cont")
        # Of its threads the first, the main loop, which every timer of the guest wakes for nothing: at this
        # priority it runs when the guest's own thread waits for it, and takes no turns with it in between.
        os.sched_setscheduler(self.process.pid, os.SCHED_IDLE, os.sched_param(0))
        if self._is_to_end:
            self._let_end()

    def keep(self, file: Path) -> None:
        """Wait until the guest stops itself, then keep it in a file, as it is."""
        while self._read().get("event") != "STOP":
            pass
        self.execute("migrate", uri=f"exec:cat >{file}")
        while (status := self.execute("query-migrate").get("status")) != "completed":
            if status == "failed":
                raise GuestError(f"lab: {file}: the guest could not be kept: {self.serial}")
            self._wait_a_little()

    @property
    def serial(self) -> Path:
        """What the guest wrote on its console."""
        return self.folder / "serial.log"

    def stop(self) -> None:
        """End it, wherever it is."""
        self.kill()
        self.process.communicate()

    def kill(self) -> None:
        """Let it end now, as another thread may want while this one waits for it."""
        self._is_to_end = True
        if self.process.poll() is None:
            self._let_end()
            self.process.kill()

    def _let_end(self) -> None:
        # Its main loop may have been put behind everything else, and must run once more to end.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(self.process.pid, os.SCHED_OTHER, os.sched_param(0))

    def _ask(self, line: str) -> str:
        """Return what the monitor for people answers."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        told = ""
        while not told.endswith(_PROMPT):
            if not (more := self.process.stdout.read(1)):
                raise self._ended()
            told += more
        return told

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        return json.loads(line)

    def _wait_a_little(self) -> None:
        # The monitor tells of the end of either direction only who asks.
        try:
            self.process.wait(0.02)
        except subprocess.TimeoutExpired:
            return
        raise self._ended()

    def _ended(self) -> GuestError:
        self.process.wait()
        said = (self.folder / "qemu.log").read_text(errors="replace").strip().splitlines()
        return GuestError(f"lab: {QEMU}: {said[-1] if said else 'it ended'}: {self.serial}")


def _next_core() -> int:
    """Return one of the cores that this process may use, each in its turn."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[(os.getpid() + next(_started)) % len(cores)]


@contextmanager
def _lazy_timers() -> Iterator[None]:
    """Let processes started in this block sleep until something happens, and not until a timer says so.

    QEMU's main loop sleeps at most as long as the guest's next timer has, as if the guest's time were this
    machine's. The guest's idleness wakes it in any case, and what else wakes it only costs time. Processes
    inherit this setting (prctl(2), PR_SET_TIMERSLACK).
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
        # Without HPET the kernel's clock is the time-stamp counter, which costs no exit to read.
        *("-M", "q35,hpet=off", "-cpu", _CPU, "-m", str(MEMORY_MIB), "-smp", "1"),
        *("-seed", str(seed % 2**32), "-rtc", "base=2026-01-01,clock=vm"),
        *("-icount", _ICOUNT),
        *("-nodefaults", "-display", "none", "-no-reboot", "-no-user-config"),
        *("-serial", f"file:{folder / 'serial.log'}"),
        # The guest stops itself, in the instruction that writes there: so what is kept is always the same.
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
