"""The backends that run on the host's real TCP stack."""

from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.link_shells import Backend
from leogym.kernel_bridge.runner.mahimahi_links import MahimahiLinks

BACKENDS: dict[str, type[Backend]] = {"mahimahi": MahimahiLinks, "kernel": LeoLinks}
