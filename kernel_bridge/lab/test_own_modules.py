"""Modules of one's own: built, loaded, and run as schemes; mistakes are one line with the log's path."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.lab import image, links, own_modules, virtual_run
from leogym.kernel_bridge.lab.packages import Packages
from tests.support.scenarios import one_link

LACK = links.missing() or (None if shutil.which("gcc-12") and shutil.which("make") else "no gcc-12 or make")
pytestmark = pytest.mark.skipif(LACK is not None, reason=LACK or "")

SOURCE = """
#include <linux/module.h>
#include <net/tcp.h>

static int window = 10;
module_param(window, int, 0444);

static void fixed_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_sk(sk)->snd_cwnd = window;
}

static struct tcp_congestion_ops fixed = {
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = fixed_avoid,
	.owner = THIS_MODULE,
	.name = "fixed",
};

static int __init fixed_register(void)
{
	pr_info("fixed: a window of %d\\n", window);
	return tcp_register_congestion_control(&fixed);
}

static void __exit fixed_unregister(void)
{
	tcp_unregister_congestion_control(&fixed);
}

module_init(fixed_register);
module_exit(fixed_unregister);
MODULE_LICENSE("GPL");
"""
LINK = {"rate_mbps": 100, "delay_ms": 25}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Register modules in a folder of the test, beside the machine's image and packages."""
    folder = tmp_path / "modules"
    shared = image.cache() / "modules"
    folder.mkdir()
    for headers in shared.glob("headers-*"):
        (folder / headers.name).symlink_to(headers)
    monkeypatch.setattr(own_modules, "_folder", lambda: folder)
    return folder


def _written(folder, text=SOURCE, name="fixed.c"):
    (folder / name).write_text(text)
    return folder / name


def test_a_module_is_a_scheme_with_its_parameters(cache, tmp_path):
    source = _written(tmp_path)
    own_modules.register(source, None, [])
    module, log = own_modules.register(source, "fixed-40", ["window=40"])
    assert (module.scheme, log.name) == ("fixed", "fixed.log")
    assert "fixed: a window of 40" in log.read_text()
    kernel_logs, goodputs = [], []
    for scheme in ("linux:fixed", "linux:fixed-40"):
        ran = virtual_run.execute(one_link(3, LINK, scheme), {}, on_kernel_log=kernel_logs.append)
        goodputs.append(ran.flows[0]["goodput_mbps"])
    windows = np.array([10, 40]) * 1448 * 8 / 0.0501 / 1e6
    assert goodputs == pytest.approx(windows, rel=0.05)
    assert b"fixed: a window of 40" in kernel_logs[1]
    with pytest.raises(
        InputError, match=r"linux:fixed.* are one scheme of the kernel with different parameters"
    ):
        virtual_run.execute(one_link(3, LINK, "linux:fixed", "linux:fixed-40"), {})


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("window;", "windows;"), r"^\S+fixed\.c:10: .*windows.*undeclared"),
        (("tcp_sk(sk)->snd_cwnd = window", "tcp_no_such(sk)"), r"has no symbol tcp_no_such for modules"),
        (('.name = "fixed"', '.name = "cubic"'), r"the kernel refuses it: TCP: cubic already registered"),
        (
            ("return tcp_register", "*(int *)8 = 1; return tcp_register"),
            r"BUG: kernel NULL pointer dereference",
        ),
        (
            ("return tcp_register_congestion_control(&fixed)", "return 0"),
            r"registers 0 congestion control schemes",
        ),
    ],
)
def test_a_module_that_does_not_work_is_one_line_that_names_the_log(cache, tmp_path, change, rule):
    before, after = change
    text = SOURCE.replace(before, after)
    if after.startswith("tcp_no_such"):
        text = text.replace("static int window", "void tcp_no_such(struct sock *sk);\nstatic int window")
    assert text != SOURCE
    with pytest.raises(InputError, match=rule) as caught:
        own_modules.register(_written(tmp_path, text), None, [])
    message = str(caught.value)
    assert "\n" not in message
    log = Path(message.rsplit(": ", 1)[1])
    assert log.is_file()
    if log.name == "serial.log":
        shutil.rmtree(log.parent)
    assert list(cache.glob("*/module.json")) == []


@pytest.mark.installs
def test_debians_cubic_under_another_name_behaves_as_the_built_in_one(cache, tmp_path):
    packages = Packages(image.cache() / "apt")
    release = re.match(r"\d+\.\d+", image.latest().manifest["kernel"])[0]
    packages.unpack([f"linux-source-{release}"], tmp_path)
    archive = tmp_path / f"usr/src/linux-source-{release}.tar.xz"
    shutil.unpack_archive(archive, tmp_path, filter="data")
    text = (tmp_path / f"linux-source-{release}/net/ipv4/tcp_cubic.c").read_text()
    text = re.sub(r'(\.name\s*= )"cubic"', r'\1"cubic_copy"', text)
    own_modules.register(_written(tmp_path, text, "cubic_copy.c"), None, [])
    for loss in (0.0, 0.0001):
        built_in, own = (
            virtual_run.execute(one_link(10, LINK | {"loss": loss}, scheme), {}).flows[0]
            for scheme in ("cubic", "linux:cubic_copy")
        )
        # Not the same bytes: packets leave at slightly other times. The cause is not known.
        assert own["delivered_packets"] == pytest.approx(built_in["delivered_packets"], rel=1e-3)
        assert own["rtt_mean_ms"] == pytest.approx(built_in["rtt_mean_ms"], rel=1e-3)
