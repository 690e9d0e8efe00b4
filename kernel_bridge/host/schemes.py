"""The congestion control schemes that this machine's kernel runs."""

from pathlib import Path

from leogym.configs.scenario import CALL_SCHEME

DATAGRAMS = "udp"  # the scheme of flows that send at a constant rate without congestion control
OVER_UDP = (DATAGRAMS, CALL_SCHEME)  # schemes of flows without the kernel's congestion control
NAME_PREFIX = "leogym"  # prefix of the names under which runs register schemes
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> list[str]:
    """Return the schemes that flows can use: the kernel's, with modules and eBPF programs, and UDP's."""
    try:
        names = _AVAILABLE.read_text(encoding="utf-8").split()
    except OSError:
        names = []
    return [*sorted(name for name in names if not name.startswith(NAME_PREFIX)), *OVER_UDP]
