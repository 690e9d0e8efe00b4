from contextlib import ExitStack, suppress

import pytest

from leogym.kernel_bridge.runner.stop import Stop, StoppedError


@pytest.mark.parametrize("failing", range(3))
def test_a_run_that_cannot_be_ended_does_not_save_the_others(failing):
    def end(number):
        ended.append(number)
        if number == failing:
            raise OSError(f"run {number} cannot be ended")

    stop, ended = Stop(), []
    with suppress(StoppedError), ExitStack() as runs:
        for number in range(3):
            runs.enter_context(stop.by(lambda number=number: end(number)))
        with pytest.raises(OSError, match=f"run {failing} cannot be ended"):
            stop.ask()
    assert sorted(ended) == [0, 1, 2]
    with pytest.raises(StoppedError):
        stop.check()
