"""leo-bridge on the lab's kernel: Debian 12's (6.1) has no links of struct_ops (Linux 6.4)."""

import re
import subprocess
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.lab import image, qemu
from leogym.kernel_bridge.lab.initramfs import File, archive

LIMIT_CPU_S = 400
"""Only against hanging. Load lengthens wall time, not CPU time, and an idle guest uses CPU time, too."""
BYTES = 500_000
STOP_NS = 600_000_000_000  # of the guest's clock
ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "core/control/tests/fixtures/perceptron"
INIT = ROOT / "tests/support/bridge_init.sh"
SCHEMES = {
    "t_offer": "--offer t_offer",
    "t_orca": "--offer-over-cubic t_orca",
    "t_satcp": "--satcp t_satcp",
    "t_vivace": "--scheme t_vivace=vivace",
    "t_policy": "--policy t_policy=/policy",
}


def _booted(folder):
    try:
        built = image.latest()
    except InputError as error:
        pytest.skip(str(error))
    init = INIT.read_text().replace("OPTIONS", " ".join(SCHEMES.values())).replace("NAMES", " ".join(SCHEMES))
    init = init.replace("STOP", str(STOP_NS)).replace("BYTES", str(BYTES))
    files = image.with_libraries(Path(bridge_process.program()), "bin/leo-bridge")
    files["bridge-init"] = File(init.encode(), 0o755)
    files |= {f"policy/{path.name}": File(path.read_bytes()) for path in POLICY.iterdir()}
    initramfs = folder / "initramfs"
    initramfs.write_bytes(built.initramfs.read_bytes() + archive(files, {"tmp": 0o1777}))
    console = folder / "console"
    done = subprocess.run(
        [
            *("prlimit", f"--cpu={LIMIT_CPU_S}", "--", qemu.QEMU),
            # In virtual time, load makes nothing late.
            *("-icount", qemu.ICOUNT, "-M", "q35", "-cpu", qemu.CPU, "-m", "768", "-nodefaults"),
            *("-display", "none", "-no-reboot", "-serial", f"file:{console}", "-serial", "stdio"),
            *("-kernel", built.kernel, "-initrd", initramfs),
            *("-append", "console=ttyS0 quiet panic=-1 rdinit=/bridge-init cryptomgr.notests"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    output = done.stdout.replace("\r", "")
    assert done.returncode == 0, (done, console.read_text(errors="replace"))
    return output


@pytest.mark.skipif(
    bool(qemu.missing() or bridge_process.program() is None),
    reason=qemu.missing() or "leo-bridge is not built: `make kernel` as root builds it",
)
def test_all_its_schemes_run_on_the_distributions_kernel_and_go_when_it_is_killed(tmp_path):
    console = _booted(tmp_path)
    names = {
        moment: set(listed.split()) for moment, listed in re.findall(r"^(\w+): ((?:\w+ ?)+)$", console, re.M)
    }
    assert "leo-bridge can run here" in console, console
    if re.match(r"6\.[123]\.", console):
        assert "by a second process" in console, console
    assert names["served"] >= SCHEMES.keys(), console
    for scheme in SCHEMES:
        assert f"\n{scheme}: {BYTES} bytes\n" in console, console
    assert not names["killed"] & SCHEMES.keys(), console
    if re.match(r"6\.[123]\.", console):
        assert names["left"] >= SCHEMES.keys(), f"the guardian was killed, too: {console}"
        taken_away = re.findall(r"^removed (\w+), a congestion control that nobody served$", console, re.M)
        assert sorted(taken_away) == sorted(SCHEMES), console
    assert not names["clean"] & SCHEMES.keys(), console
