"""Fixtures of the bridge's tests."""

import pytest

from tests.support.veth import Pair


@pytest.fixture
def pair():
    """Two network namespaces."""
    with Pair() as pair:
        yield pair
