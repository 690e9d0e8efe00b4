"""The congestion control schemes that this machine's kernel runs."""

from __future__ import annotations

from pathlib import Path

DATAGRAMS = "udp"
"""The scheme of flows that send at a constant rate, whatever happens."""
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> list[str]:
    """Return what a flow's scheme may be: the kernel's own, loaded modules and eBPF programs, and udp."""
    try:
        return [*sorted(_AVAILABLE.read_text().split()), DATAGRAMS]
    except OSError:
        return [DATAGRAMS]
