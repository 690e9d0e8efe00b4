"""``mm-leo`` as data: the shell that replays a path trace on the machine's clock."""

from leogym.kernel_bridge.shell.leo import Leo as Leo
from leogym.kernel_bridge.shell.leo import missing as missing
from leogym.kernel_bridge.shell.leo import program as program
