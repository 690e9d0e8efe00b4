"""pantheon-tunnel: measures an existing path packet by packet at both ends.

from leogym.kernel_bridge.tunnel import Logs, measured

measured(Logs.read(sender=Path("client"), receiver=Path("server")), "cubic").flows
"""

from leogym.kernel_bridge.tunnel.local_flow import missing, run
from leogym.kernel_bridge.tunnel.measure import Logs, measured
from leogym.kernel_bridge.tunnel.tunnel_log import TunnelLog, read_log

__all__ = ["Logs", "TunnelLog", "measured", "missing", "read_log", "run"]
