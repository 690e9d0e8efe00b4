"""mahimahi's shells (Netravali et al., USENIX ATC 2015) as data, running them, and reading their logs."""

from leogym.kernel_bridge.mahimahi.command import Finished as Finished
from leogym.kernel_bridge.mahimahi.command import Server as Server
from leogym.kernel_bridge.mahimahi.command import missing as missing
from leogym.kernel_bridge.mahimahi.command import run as run
from leogym.kernel_bridge.mahimahi.link_log import LinkLog as LinkLog
from leogym.kernel_bridge.mahimahi.link_log import read_log as read_log
from leogym.kernel_bridge.mahimahi.shell import Delay as Delay
from leogym.kernel_bridge.mahimahi.shell import Link as Link
from leogym.kernel_bridge.mahimahi.shell import Loss as Loss
from leogym.kernel_bridge.mahimahi.shell import Queue as Queue
from leogym.kernel_bridge.mahimahi.shell import chain as chain
