import io
import os
import tarfile

from leogym.configs.program_run import Host
from leogym.kernel_bridge.programs import roots


def _archived(host, folder):
    """Return the root folder of the only host, as a tar archive."""
    archives, _ = roots.archives("run", {"client": Host.model_validate(host)}, folder, "hosts\n")
    return archives["client"]


def _files(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {entry.name: opened.extractfile(entry).read() for entry in opened if entry.isfile()}


def test_the_same_files_have_the_same_bytes_whenever_they_were_written(tmp_path):
    (tmp_path / "data").write_text("data")
    host = {"files": {"data": "data"}, "programs": {"client": {"command": "true data"}}}
    archives = set()
    for time_s in (1, 2):
        os.utime(tmp_path / "data", (time_s, time_s))
        archives.add(_archived(host, tmp_path))
    assert len(archives) == 1


def test_compiled_python_stays_valid(tmp_path):
    (tmp_path / "package/__pycache__").mkdir(parents=True)
    (tmp_path / "package/module.py").write_text("")
    os.utime(tmp_path / "package/module.py", (7, 7))
    host = {"files": {"package": "package"}, "programs": {"client": {"command": "true"}}}
    with tarfile.open(fileobj=io.BytesIO(_archived(host, tmp_path))) as archive:
        assert archive.getmember("./home/user/package/module.py").mtime == 7


def test_services_and_protocols_are_not_this_machines_but_a_run_may_bring_its_own(tmp_path):
    host = {"programs": {"client": {"command": "true"}}}
    files = _files(_archived(host, tmp_path))
    assert b"https 443/tcp\n" in files["./etc/services"]
    (tmp_path / "services").write_text("mine 1/tcp\n")
    files = _files(_archived({**host, "files": {"/etc/services": "services"}}, tmp_path))
    assert files["./etc/services"] == b"mine 1/tcp\n"
