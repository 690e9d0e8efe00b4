"""``python -m leogym``: the command ``leogym``."""

import runpy

# By name: this package depends on no room.
runpy.run_module("leogym.commands", run_name="__main__", alter_sys=True)
