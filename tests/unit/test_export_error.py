"""How often at most any statement of a document is wrong."""

from dataclasses import replace

import surefoot as sf
from surefoot.core.assumptions import Jointly, Together
from surefoot.core.results import Footing, Guarantee
from tests.worlds import points, study


def test_a_model_card_says_how_often_any_of_its_statements_is_wrong():
    """Errors add up; statements that hold together count once, and what promises nothing not."""
    plain = study(inputs=points(5), method=sf.methods.ExactSequential(0.3, 0.2)).run()

    def joint(claim, together, **changes):
        guarantee = replace(claim.guarantee, error=0.05, jointly=together)
        return claim.saying(guarantee=guarantee, **changes)

    one = plain.claims[0].saying(guarantee=Guarantee(Footing.SOUND, 0.05))
    classes = [joint(one, Jointly(Together.CLASSES, 2)) for _ in range(2)]
    curves = [joint(one, Jointly(Together.THRESHOLDS, 2), names=(name,)) for name in "ab"]
    nothing = replace(one.saying(guarantee=Guarantee(Footing.NONE, 1.0)), value=None, interval=None)
    for claims, total in (
        ([one], "0.05"), ([one, one], "0.1"), ([one, *classes], "0.1"), (curves, "0.1"),
        ([one, nothing], "0.05"),
    ):  # fmt: skip
        card = replace(plain, record=replace(plain.record, claims=tuple(claims))).export()
        assert f"any statement of this card is wrong is at most {total}, if" in card
    many = replace(plain, record=replace(plain.record, claims=(one,) * 20)).export()
    assert "add up to 1 or more" in many
