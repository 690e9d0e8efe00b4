from leogym.common.cluster import watched
from leogym.common.cluster.watched import Cluster


def test_an_unexpected_error_of_the_watch_is_the_clusters_fault(monkeypatch):
    def look():
        raise ValueError("the reply has no nodes\nand more")

    monkeypatch.setattr(watched, "POLL_INTERVAL_S", 0.0)
    cluster = Cluster("10.0.0.1:6379", "resume with --resume")
    monkeypatch.setattr(cluster, "_look", look)
    cluster._watch(None, False)
    cluster.cancel_exit()
    wanted = "--ray: 10.0.0.1:6379: its nodes cannot be watched: ValueError: the reply has no nodes"
    assert cluster.fault == f"{wanted}; resume with --resume"
