import os
import subprocess
import sys

PRODUCTS = """
import leogym.agents, numpy as np, torch
random = np.random.default_rng(1)
rows, weights = random.standard_normal((32, 64), np.float32), random.standard_normal((1, 64), np.float32)

def at(offset):
    memory = np.zeros(rows.size + 64, np.float32)
    first = -memory.ctypes.data // 4 % 16 + offset
    placed = memory[first : first + rows.size].reshape(rows.shape)
    placed[...] = rows
    return torch.from_numpy(placed)

layer = torch.nn.functional.linear
print(len({layer(at(offset), torch.from_numpy(weights)).numpy().tobytes() for offset in range(16)}))
"""


def test_a_layer_of_one_output_is_the_same_wherever_its_inputs_lie_in_memory():
    environment = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    command = [sys.executable, "-c", PRODUCTS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
