from leogym.agents.engines.schedule import Every


def test_it_is_due_once_for_each_multiple_that_was_passed():
    every = Every(100, 0)
    assert [every.due(steps) for steps in (64, 128, 192, 256, 320)] == [False, True, False, True, True]


def test_a_jump_over_several_multiples_is_due_once():
    every = Every(100, 0)
    assert [every.due(steps) for steps in (512, 540)] == [True, False]


def test_a_resumed_count_is_not_due_for_what_was_done_before():
    assert not Every(100, 350).due(399)
    assert Every(100, 350).due(400)
