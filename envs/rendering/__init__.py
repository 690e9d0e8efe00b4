"""Pictures of running episodes: frames for ``render_mode="rgb_array"`` and a window for ``"human"``.

A frame shows the last `SPAN_S` of an episode: rates and capacity, RTT and base RTT, congestion windows,
handovers and outages. A map shows the path if the scenario has one. Environments import this package only if
they have a render mode.
"""
