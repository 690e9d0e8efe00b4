"""The congestion control schemes that this machine's kernel runs."""

from __future__ import annotations

from pathlib import Path

DATAGRAMS = "udp"
"""The scheme of flows that send at a constant rate, whatever happens."""
OURS = "leogym"
"""What the names begin with under which runs register schemes of their own, for as long as they last."""
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> list[str]:
    """Return what a flow's scheme may be: the kernel's own, loaded modules and eBPF programs, and udp."""
    try:
        names = _AVAILABLE.read_text().split()
    except OSError:
        names = []
    return [*sorted(name for name in names if not name.startswith(OURS)), DATAGRAMS]
