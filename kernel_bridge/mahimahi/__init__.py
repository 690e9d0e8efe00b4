"""mahimahi's shells (Netravali et al., USENIX ATC 2015) as data, running them, and reading their logs."""

from kernel_bridge.mahimahi.command import Finished as Finished
from kernel_bridge.mahimahi.command import Server as Server
from kernel_bridge.mahimahi.command import missing as missing
from kernel_bridge.mahimahi.command import run as run
from kernel_bridge.mahimahi.link_log import LinkLog as LinkLog
from kernel_bridge.mahimahi.link_log import read_log as read_log
from kernel_bridge.mahimahi.shell import Delay as Delay
from kernel_bridge.mahimahi.shell import Link as Link
from kernel_bridge.mahimahi.shell import Loss as Loss
from kernel_bridge.mahimahi.shell import Queue as Queue
from kernel_bridge.mahimahi.shell import chain as chain
