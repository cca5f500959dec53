"""What fields may hold: refused with the name and the value, kept as they are read."""

from dataclasses import dataclass, field

import pytest

from surefoot.core.limits import between, check_fields, check_value, count, one_of, whole
from surefoot.errors import InvalidArgument


@dataclass(frozen=True)
class Spec:
    share: float = field(metadata=between(0, 1))
    number: int = field(default=3, metadata=whole(2))
    most: int | None = field(default=None, metadata=whole(1))
    spots: int = field(default=4, metadata=count(10))
    word: str = field(default="a", metadata=one_of("a", "b"))
    free: float = -1.0

    def __post_init__(self) -> None:
        check_fields(self)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share", 0.0), ("share", 1.0), ("share", float("nan")), ("number", 1), ("number", 2.5),
        ("number", None), ("most", 0), ("spots", 11), ("spots", 2.5), ("word", "c"),
    ],
)  # fmt: skip
def test_a_field_beyond_its_limit_is_refused_with_its_name_and_value(name, value):
    with pytest.raises(InvalidArgument) as caught:
        Spec(**{"share": 0.5, name: value})
    refused = caught.value
    assert refused.option == name
    assert refused.value is value


def test_a_field_that_may_be_none_is_limited_where_it_is_not():
    assert Spec(0.5).most is None
    assert Spec(0.5, most=1).most == 1


def test_a_count_without_a_fraction_is_kept_as_an_integer():
    assert isinstance(Spec(0.5, spots=4.0).spots, int)


def test_a_value_that_is_no_field_names_no_option():
    with pytest.raises(InvalidArgument) as caught:
        check_value("required share", 2.0, between(0, 1))
    assert caught.value.option == ""
