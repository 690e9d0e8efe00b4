import pytest

pytest.importorskip("ray")

from leogym.common.cluster.messages import in_one_line

KILLED = (
    "A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the "
    "problem, check the logs for the dead worker. Lease ID: 0000 Worker ID: 7c03 Node ID: 3deb Worker IP "
    "address: 10.0.0.2 Worker port: 11216 Worker PID: 31045 Worker exit type: SYSTEM_ERROR "
    "Worker exit detail: Worker unexpectedly exits with a connection error code 2. There are some potential "
    "root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage."
)
LOST = (
    "The node with node id: 3deb and address: 10.0.0.3 and node name: 10.0.0.3 has been marked dead because "
    "the detector has missed too many heartbeats from it. This can happen when a (1) raylet crashes "
    "unexpectedly (OOM, etc.)\n(2) raylet has lagging heartbeats due to slow network or busy workload.\n"
    "[state-dump] NodeManager:\n[state-dump] Node name: 10.0.0.3"
)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (KILLED, "node 10.0.0.2: a worker was killed or died: its work starts again elsewhere"),
        (LOST, "node 10.0.0.3: has left the cluster: its work starts again elsewhere"),
        (
            "1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed\n"
            "due to other reasons at node (ID: 3deb, IP: 10.0.0.4)",
            "node 10.0.0.4: Ray ended a worker because memory ran short: its work starts again elsewhere",
        ),
        ("\x1b[33mSomething\nelse\x1b[0m", "Ray: Something else"),
        ("x" * 300, f"Ray: {'x' * 200}…"),
        ("", ""),
    ],
)
def test_a_message_of_any_length_is_one_line(message: str, line: str) -> None:
    assert in_one_line(message) == line
