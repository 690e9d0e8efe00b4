"""``mm-leo``, the shell that replays a path trace on the machine's clock, as data."""

from kernel_bridge.shell.leo import Leo as Leo
from kernel_bridge.shell.leo import missing as missing
from kernel_bridge.shell.leo import program as program
