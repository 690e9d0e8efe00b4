"""mahimahi's shells (Netravali et al., USENIX ATC 2015): as data, run in private namespaces, logs read."""

from kernel_bridge.mahimahi.log import LinkLog as LinkLog
from kernel_bridge.mahimahi.log import read_log as read_log
from kernel_bridge.mahimahi.run import Finished as Finished
from kernel_bridge.mahimahi.run import Server as Server
from kernel_bridge.mahimahi.run import missing as missing
from kernel_bridge.mahimahi.run import run as run
from kernel_bridge.mahimahi.shell import Delay as Delay
from kernel_bridge.mahimahi.shell import Link as Link
from kernel_bridge.mahimahi.shell import Loss as Loss
from kernel_bridge.mahimahi.shell import Queue as Queue
from kernel_bridge.mahimahi.shell import chain as chain
