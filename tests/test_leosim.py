"""Numbers that the simulator's Python module refuses."""

import leosim
import pytest


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: leosim.run([], {}, threads=-1), "threads: must be from 0 to 256, not -1"),
        (lambda: leosim.run([], {}, threads=257), "threads: must be from 0 to 256, not 257"),
        (lambda: leosim.Batch(1, threads=-1), "threads: must be from 0 to 256, not -1"),
        (lambda: leosim.Batch(-1), "size: must be from 1 to 1000000, not -1"),
        (lambda: leosim.Batch(1, slots=0), "slots: must be from 1 to 100000, not 0"),
        (lambda: leosim.Batch(1, hold=-1), "hold: must be from 0 to 1, not -1"),
        (lambda: leosim.Constellation("{}", threads=0), "threads: must be from 1 to 256, not 0"),
    ],
)
def test_a_number_out_of_range_is_one_line(call, message):
    with pytest.raises(leosim.InputError, match=f"^arguments: {message}$"):
        call()
