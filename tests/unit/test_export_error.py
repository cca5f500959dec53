"""How often at most any statement of a document is wrong."""

from dataclasses import replace

import surefoot as sf
from surefoot.core.results import Footing, Guarantee
from tests.worlds import points, study


def test_a_model_card_says_how_often_any_of_its_statements_is_wrong():
    """Errors add up; statements that hold together count once, and what promises nothing not."""
    plain = study(inputs=points(5), method=sf.methods.ExactSequential(0.3, 0.2)).run()

    def joint(claim, together, **changes):
        guarantee = replace(claim.guarantee, error=0.05, jointly=together)
        return replace(claim, guarantee=guarantee, **changes)

    one = replace(plain.claims[0], guarantee=Guarantee(Footing.SOUND, 0.05))
    classes = [joint(one, "the 2 classes") for _ in range(2)]
    curves = [joint(one, "both thresholds", names=(name,)) for name in "ab"]
    nothing = replace(one, guarantee=Guarantee(Footing.NONE, 1.0), value=None, interval=None)
    for claims, total in (
        ([one], "0.05"), ([one, one], "0.1"), ([one, *classes], "0.1"), (curves, "0.1"),
        ([one, nothing], "0.05"),
    ):  # fmt: skip
        card = replace(plain, record=replace(plain.record, claims=tuple(claims))).export()
        assert f"any statement of this card is wrong is at most {total}, if" in card
    many = replace(plain, record=replace(plain.record, claims=(one,) * 20)).export()
    assert "add up to 1 or more" in many
