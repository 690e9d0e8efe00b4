"""The environments' ids in Gymnasium's registry."""

import gymnasium

FLOW_ID = "leo/Flow-v0"

# Workers of RLlib may import this module twice, and the registry warns about a second entry.
if FLOW_ID not in gymnasium.registry:
    gymnasium.register(
        FLOW_ID, entry_point="leogym.envs.flow:FlowEnv", vector_entry_point="leogym.envs.flow:FlowVectorEnv"
    )
