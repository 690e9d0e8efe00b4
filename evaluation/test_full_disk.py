import shutil

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.evaluation import cli
from tests.support import scenarios


@pytest.mark.parametrize("left_bytes", [8_192, 24_576, 45_056], ids=["series", "parquet", "report"])
def test_a_disk_that_fills_up_is_one_line_and_a_resume_goes_on(small_disk, tmp_path, left_bytes):
    suite = scenarios.written(tmp_path, scenarios.suite("small").replace("duration_s: 1", "duration_s: 2"))
    out, filler = small_disk / "out", small_disk / "filler"
    arguments = [suite, "--schemes", "reno", "--out", str(out)]
    cli.run([*arguments, "--repeats", "1"])
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - left_bytes))
    with pytest.raises(
        InputError, match=r"out: cannot be written: No space left on device: .* continue with --resume"
    ) as it:
        cli.run([*arguments, "--repeats", "3", "--resume"])
    assert "\n" not in str(it.value)
    for path in out.rglob("*.parquet"):
        pl.read_parquet(path)
    assert 0 in pl.read_parquet(out / "runs.parquet")["repeat"]
    assert not list(out.rglob(".*.tmp"))
    filler.unlink()
    assert cli.run([*arguments, "--repeats", "3", "--resume"]) == 0
    assert sorted(pl.read_parquet(out / "runs.parquet")["repeat"]) == [0, 1, 2]
