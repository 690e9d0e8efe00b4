"""Find the guest's kernel modules and their dependencies."""

import lzma
import re
from collections.abc import Iterable
from pathlib import Path

from leogym.common.errors import InputError

GUEST_MODULES = (
    *("virtio_pci", "virtio_console", "veth", "tun", "inet_diag", "tcp_diag"),
    # libcrc32c, which nf_tables needs, requests crc32c by name, not as a dependency.
    *("crc32c_generic", "nf_tables", "nft_chain_nat", "nft_masq"),
    *("tcp_bbr", "tcp_bic", "tcp_cdg", "tcp_highspeed", "tcp_htcp", "tcp_hybla", "tcp_illinois", "tcp_lp"),
    *("tcp_nv", "tcp_scalable", "tcp_vegas", "tcp_veno", "tcp_westwood", "tcp_yeah"),
    *("sch_netem", "sch_tbf", "sch_fq", "sch_codel", "sch_fq_codel", "sch_cake", "sch_pie", "sch_fq_pie"),
    *("sch_sfq", "sch_dualpi2", "sch_ingress", "cls_bpf"),
)
"""Modules for devices, logs of connections, mm-leo's address translation, schemes, disciplines and losses."""


def with_dependencies(folder: Path, names: Iterable[str] = GUEST_MODULES) -> dict[str, bytes]:
    """Return modules and their dependencies in loading order.

    Args:
        folder: ``lib/modules/VERSION`` of a kernel.
        names: module names, as in /proc/modules; a missing one is assumed to be built into the kernel.

    Raises:
        InputError: the folder has no modules.
    """
    files = {_name(path): path for path in sorted(folder.rglob("*.ko*")) if path.suffix in (".ko", ".xz")}
    if not files:
        raise InputError(f"{folder}: lab: no kernel modules (*.ko, *.ko.xz) here")
    modules: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in modules or name not in files:
            return
        module = _read(files[name])
        for need in _dependencies(module):
            add(need)
        modules[name] = module

    for name in names:
        add(name)
    return modules


def _name(path: Path) -> str:
    return path.name.split(".")[0].replace("-", "_")


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _dependencies(module: bytes) -> list[str]:
    """Read the field ``depends`` of a module's section ``.modinfo``: names with commas, zero-terminated."""
    field = re.search(rb"\0depends=([^\0]*)\0", module)
    names = field[1].decode() if field else ""
    return [name.replace("-", "_") for name in names.split(",") if name]
