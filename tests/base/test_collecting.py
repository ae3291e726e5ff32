"""The search for reference cycles is off while asked for, and back afterwards, whatever happens."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from mince_gui.base.collecting import uncollected


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The interpreter's settings outlive a test."""
    was_on = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was_on else gc.disable)()


class _Knot:
    def __init__(self) -> None:
        self.own = self


def _knot() -> weakref.ref[_Knot]:
    return weakref.ref(_Knot())


def test_the_search_is_off_inside_and_on_again_also_after_an_error() -> None:
    gc.enable()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off() -> None:
    gc.disable()
    with uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()
    gc.enable()
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_made_inside_is_passed_over_until_the_next_time() -> None:
    gc.enable()
    with uncollected():
        inside = _knot()
    outside = _knot()
    gc.collect()
    assert inside() is not None
    assert outside() is None
    with uncollected():
        pass
    with uncollected():
        gc.collect()
    assert inside() is None
