import copy
import pickle

import pytest
import torch

from noiseproof import losses
from noiseproof.losses import LOSSES, MarginLoss, get, register

NAMES = [
    "ce",
    "focal",
    "mae",
    "rce",
    "sl",
    "sce",
    "gce",
    "truncated_gce",
    "tce",
    "aul",
    "agce",
    "ael",
    "gr",
    "imae",
    "nal_fixed",
    "nce",
    "nfl",
    "mse",
    "gls",
    "ls",
    "cr",
    "peer",
    "scale",
    "shift",
    "unit_max",
    "binary",
]
WITH_INNER = ("cr", "peer", "scale", "shift", "unit_max", "binary")


@pytest.fixture(autouse=True)
def _restore_registry():
    before = dict(LOSSES)
    yield
    LOSSES.clear()
    LOSSES.update(before)


def test_registry_is_a_dict_with_documented_names():
    assert type(LOSSES) is dict
    assert set(NAMES) <= set(LOSSES)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_creates_its_class(name):
    spec = f"{name}(mae)" if name in WITH_INNER else name
    loss = get(spec)
    assert type(loss) is LOSSES[name]
    assert loss.name == {"ls": "gls"}.get(name, name)
    assert isinstance(loss, losses.Loss)


def test_lowercase_names_are_the_classes():
    assert (losses.scale, losses.shift) == (losses.Scale, losses.Shift)
    assert (losses.unit_max, losses.binary) == (losses.UnitMax, losses.Binary)


def test_get_returns_a_loss_unchanged():
    loss = losses.GCE(q=0.3, reduction="sum", ignore_index=7, weight=torch.ones(3))
    assert get(loss) is loss


def test_get_with_settings_copies_the_loss():
    loss = losses.GCE(q=0.3)
    changed = get(loss, reduction="none", ignore_index=2, weight=torch.tensor([1.0, 2.0]))
    assert changed is not loss
    assert (str(changed), changed.reduction, changed.ignore_index) == ("gce(q=0.3)", "none", 2)
    assert changed.weight.tolist() == [1.0, 2.0]
    assert (loss.reduction, loss.ignore_index, loss.weight) == ("mean", -100, None)


def test_copy_keeps_other_settings():
    changed = get(losses.CE(reduction="sum", weight=torch.ones(4)), ignore_index=3)
    assert (changed.reduction, changed.ignore_index) == ("sum", 3)
    assert changed.weight.tolist() == [1.0] * 4


def test_unnamed_loss_is_copied_with_settings():
    loss = MarginLoss.from_emphasis(lambda p, rest: p * rest)
    changed = get(loss, reduction="none")
    logits, target = torch.zeros(3, 2), torch.tensor([0, 1, 0])
    assert changed(logits, target).tolist() == pytest.approx([0.5] * 3, rel=1e-5)
    assert loss(logits, target).shape == ()


@pytest.mark.parametrize("spec", ["ce", "nce", "ce + 0.5*nce", "unit_max(mae)", "cr(ce)"])
def test_settings_apply_to_the_outermost_loss(spec):
    logits, target = (
        torch.randn(6, 3, generator=torch.Generator().manual_seed(0)),
        torch.tensor([0, 1, 2, 0, 1, 2]),
    )
    weight = torch.tensor([1.0, 2.0, 0.5])
    each = get(spec, reduction="none", ignore_index=2)(logits, target)
    assert each.shape == (6,)
    assert each[[2, 5]].tolist() == [0.0, 0.0]
    kept = weight[target] * (target != 2)
    mean = get(spec, ignore_index=2, weight=weight)(logits, target)
    torch.testing.assert_close(mean, (each * kept).sum() / kept.sum())
    torch.testing.assert_close(get(spec, reduction="sum", ignore_index=2)(logits, target), each.sum())


def test_weight_is_copied_and_moves_with_the_loss():
    weight = torch.tensor([1, 2])
    loss = get("ce", weight=weight)
    weight[0] = 9
    assert loss.weight.tolist() == [1.0, 2.0]
    assert "weight" in loss.state_dict()
    assert loss.double().weight.dtype == torch.float64


def test_spec_excludes_settings():
    assert str(get("gce", reduction="sum", ignore_index=1, weight=torch.ones(2))) == "gce(q=0.7)"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"reduction": "avg"}, "reduction='avg' is unknown, choose one of 'mean', 'sum', 'none'"),
        ({"reduction": None}, "reduction=None"),
        ({"weight": torch.tensor([1.0, -1.0])}, "non-negative"),
        ({"weight": torch.tensor([1.0, torch.nan])}, "finite"),
        ({"weight": torch.tensor([1.0, torch.inf])}, "finite"),
        ({"weight": torch.ones(2, 2)}, "vector"),
        ({"weight": torch.tensor(1.0)}, "vector"),
    ],
)
@pytest.mark.parametrize("spec", ["ce", losses.CE()], ids=["spec", "loss"])
def test_invalid_settings_raise_value_error(spec, settings, part):
    with pytest.raises(ValueError) as caught:
        get(spec, **settings)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [(3, "int"), (None, "NoneType"), (b"ce", "bytes"), (["ce"], "list"), (losses.CE, "type")],
)
def test_get_of_other_types_raises_type_error(spec, kind):
    with pytest.raises(TypeError, match=f"spec must be a string or a Loss, got {kind}$"):
        get(spec)


class Halved(losses.MAE):
    name = "halved"

    def __init__(self, *, word: str = "a", strength: float = 0.5, **outer):
        super().__init__(**outer)
        self.word, self.strength = word, strength

    def value(self, margin):
        return self.strength * super().value(margin)

    def emphasis(self, margin):
        return self.strength * super().emphasis(margin)


def test_registered_losses_parse_print_and_combine():
    register("halved", Halved)
    assert LOSSES["halved"] is Halved
    assert str(get("halved")) == 'halved(word="a", strength=0.5)'
    assert (
        str(get("2*unit_max(halved(strength=3.0)) + ce")) == '2*unit_max(halved(word="a", strength=3.0)) + ce'
    )


@pytest.mark.parametrize("word", ["", "a'b", 'a"b', "a\\b", "a\nb", "\x00", "é", "[red]", "{x}", "a#b"])
def test_string_parameters_round_trip(word):
    register("halved", Halved)
    assert get(str(Halved(word=word))).word == word


def test_registered_names_are_suggested_and_listed():
    register("halved", Halved)
    with pytest.raises(ValueError, match=r"did you mean 'halved'\? .*halved"):
        get("halvd")
    with pytest.raises(
        ValueError, match=r"unknown parameter of halved 'strenght', did you mean 'strength'\?"
    ):
        get("halved(strenght=1)")


def test_factory_can_be_a_function():
    register("robust", lambda *, q=0.9: get(f"unit_max(gce(q={q}))"))
    assert str(get("robust")) == "unit_max(gce(q=0.9))"
    assert str(get("robust(q=0.2)")) == "unit_max(gce(q=0.2))"


def test_factory_can_have_an_inner_loss():
    register("gentle", lambda inner, *, tau=2.0: losses.Scale(inner, tau=tau))
    assert str(get("gentle(mae)")) == "scale(mae, tau=2.0)"
    with pytest.raises(ValueError, match="gentle takes 1 inner loss, got 0"):
        get("gentle")


def test_settings_of_a_factory_are_not_allowed_in_specs():
    register("summed", lambda *, reduction="sum": losses.CE(reduction=reduction))
    assert get("summed").reduction == "sum"
    with pytest.raises(ValueError, match="cannot use \"reduction='none'\""):
        get("summed(reduction='none')")


def test_register_replaces_registered_names():
    register("mine", losses.CE)
    register("mine", losses.MAE)
    assert str(get("mine")) == "mae"


@pytest.mark.parametrize("name", NAMES)
def test_register_rejects_names_of_the_library(name):
    before = LOSSES[name]
    with pytest.raises(ValueError, match=f"'{name}' is already a loss of this library"):
        register(name, losses.CE)
    assert LOSSES[name] is before


@pytest.mark.parametrize(
    "name", ["", " ", "2x", "my loss", "my-loss", "a.b", "ce()", "class", "lambda", "None", "a\n"]
)
def test_register_rejects_names_that_are_not_identifiers(name):
    with pytest.raises(ValueError) as caught:
        register(name, losses.CE)
    assert f"{name!r} is not a valid name of a loss" in str(caught.value)
    assert name not in LOSSES


@pytest.mark.parametrize("factory", [None, "ce", losses.CE()(torch.zeros(1, 2), torch.tensor([0]))])
def test_register_rejects_factories_that_are_not_callable(factory):
    with pytest.raises(TypeError, match="the factory of 'mine' must be callable"):
        register("mine", factory)
    assert "mine" not in LOSSES


def test_from_emphasis_and_from_value_register_their_names():
    MarginLoss.from_emphasis(lambda p, rest: p * rest, name="own_emphasis")
    MarginLoss.from_value(lambda p, rest: rest, name="own_value")
    margin = torch.linspace(-5, 5, 11)
    pair = get("own_emphasis"), get("own_value")
    assert [str(loss) for loss in pair] == ["own_emphasis", "own_value"]
    torch.testing.assert_close(pair[0].emphasis(margin), pair[1].emphasis(margin))
    assert (
        str(get("scale(own_value, tau=2) + 3*own_emphasis")) == "scale(own_value, tau=2.0) + 3*own_emphasis"
    )
    with pytest.raises(ValueError, match="unknown parameter of own_value 'of'"):
        get("own_value(of='p')")


def test_from_emphasis_rejects_names_of_the_library():
    with pytest.raises(ValueError, match="'ce' is already a loss of this library"):
        MarginLoss.from_emphasis(lambda p, rest: rest, name="ce")
    assert LOSSES["ce"] is losses.CE


@pytest.mark.parametrize(
    "spec", ["gce(q=0.2)", "10*nce + ce", "scale(mae, tau=3.0)", "gr", "own", "peer(ce)"]
)
@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))], ids=["copy", "pickle"]
)
def test_losses_copy_and_pickle_with_their_settings(spec, duplicate):
    MarginLoss.from_emphasis(lambda p, rest: p * rest, name="own")
    loss = get(spec, reduction="none", weight=torch.tensor([1.0, 2.0, 3.0]))
    again = duplicate(loss)
    logits, target = torch.arange(12.0).sin().reshape(4, 3), torch.tensor([0, 1, 2, -100])
    assert str(again) == str(loss)
    assert torch.equal(again(logits, target), loss(logits, target))


def test_unpickling_unregistered_loss_raises_value_error():
    MarginLoss.from_emphasis(lambda p, rest: p * rest, name="own")
    stored = pickle.dumps(get("own"))
    del LOSSES["own"]
    with pytest.raises(ValueError, match="'own' was pickled but is not registered"):
        pickle.loads(stored)
