"""One perturbation for all images."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest

import zofw
from zofw.core import Batch, EvaluationError, Query, Stencil
from zofw.directions import Gaussian, Rademacher
from zofw.problems import BlackBox, UniversalAttack, evaluate

N, SHAPE, CLASSES = 12, (2, 3, 3), 4
DIM = 18


def images(n: int = N) -> np.ndarray:
    pixels = np.random.default_rng(0).uniform(-0.5, 0.5, size=(n, *SHAPE))
    pixels.flat[:4] = [0.5, -0.5, 0.5, -0.5]
    return pixels


LABELS = np.random.default_rng(1).integers(CLASSES, size=N)
WEIGHTS = np.random.default_rng(2).normal(size=(DIM, CLASSES))


class Judge:
    """A linear classifier that remembers what it was shown."""

    def __init__(self):
        self.shown = []

    def __call__(self, pixels):
        assert pixels.shape[1:] == SHAPE and pixels.dtype == np.float64
        self.shown.append(len(pixels))
        return np.tanh(pixels.reshape(len(pixels), -1) @ WEIGHTS)


def by_hand(x, image, own, targeted=False):
    moved = 0.5 * np.tanh(np.arctanh(1.9999999 * image.ravel()) + x)
    scores = np.tanh(moved @ WEIGHTS)
    margin = scores[own] - np.delete(scores, own).max()
    return -margin if targeted else margin


@pytest.mark.parametrize("batch_size", [None, 1, 5, 100])
@pytest.mark.parametrize("targeted", [False, True])
def test_margins_are_the_definition_and_every_image_is_paid_once(batch_size, targeted):
    judge, rng = Judge(), np.random.default_rng(3)
    attack = UniversalAttack(
        judge, images(), LABELS, targeted=targeted, target=2 if targeted else None, batch_size=batch_size
    )
    assert judge.shown == []
    points, index = rng.normal(size=(5, DIM)), np.array([0, 7, 7, 11])
    own = np.full(N, 2) if targeted else LABELS
    expected = [[by_hand(x, images()[i], own[i], targeted) for i in index] for x in points]
    np.testing.assert_allclose(attack.values(points, index), expected, rtol=1e-12)
    assert sum(judge.shown) == 20
    assert max(judge.shown) <= attack.batch_size
    np.testing.assert_allclose(attack.pairs(points[:4], index), np.diag(np.array(expected)[:4]), rtol=1e-12)
    assert sum(judge.shown) == 24


def test_a_query_costs_what_it_says_and_equals_a_black_box():
    judge = Judge()
    attack = UniversalAttack(judge, images(), LABELS, batch_size=7)
    dense = BlackBox(attack.values, dim=DIM, n=N, vectorized=True)
    rng = np.random.default_rng(4)
    for law, stencil in ((Gaussian(), Stencil.CENTRAL), (Rademacher(), Stencil.FORWARD)):
        U = law.draw(rng, DIM, 6)
        for query in (
            Query(rng.normal(size=(2, DIM)), Batch(N), U, 0.1, stencil, variance=True),
            Query(rng.normal(size=(2, DIM)), Batch(N, rng.integers(N, size=6)), U, 0.1, stencil, paired=True),
        ):
            judge.shown.clear()
            answer = evaluate(attack, query)
            assert sum(judge.shown) == query.cost
            np.testing.assert_allclose(answer.values, evaluate(dense, query).values, rtol=1e-12)


def test_what_is_measured_of_a_perturbation():
    attack, x = UniversalAttack(Judge(), images(), LABELS), np.random.default_rng(5).normal(size=DIM)
    margins = np.array([by_hand(x, image, label) for image, label in zip(images(), LABELS, strict=True)])
    np.testing.assert_allclose(attack.margins(x), margins, rtol=1e-12)
    assert attack.value(x) == pytest.approx(margins.mean())
    assert attack.success_rate(x) == (margins < 0).mean()
    moved = attack.adversarial(x)
    assert moved.shape == images().shape
    assert np.abs(moved).max() <= 0.5
    assert attack.distortion(x) == pytest.approx(
        np.linalg.norm((moved - images()).reshape(N, -1), axis=1).mean()
    )
    np.testing.assert_allclose(attack.adversarial(np.zeros(DIM)), images(), atol=1e-7)
    assert attack.distortion(np.zeros(DIM)) < 1e-6
    assert repr(attack) == "UniversalAttack(n=12, shape=(2, 3, 3), targeted=False, space='tanh')"
    assert not attack.convex


def test_pixels_at_the_ends_stay_finite():
    attack = UniversalAttack(Judge(), np.full((1, *SHAPE), 0.5), [0])
    assert np.isfinite(attack.adversarial(np.full(DIM, -3.0))).all()
    assert np.isfinite(attack.value(np.full(DIM, -3.0)))


def test_images_already_misclassified_count_as_fooled():
    pixels = images()
    wrong = np.argmin(pixels.reshape(N, -1) @ WEIGHTS, axis=1)
    assert UniversalAttack(Judge(), pixels, wrong).success_rate(np.zeros(DIM)) == 1.0


def test_a_target_may_differ_from_image_to_image():
    target = np.arange(N) % CLASSES
    attack = UniversalAttack(Judge(), images(), LABELS, targeted=True, target=target)
    expected = [
        by_hand(np.ones(DIM), image, goal, True) for image, goal in zip(images(), target, strict=True)
    ]
    np.testing.assert_allclose(attack.margins(np.ones(DIM)), expected)


def test_an_attack_succeeds():
    attack = UniversalAttack(Judge(), images(), np.argmax(images().reshape(N, -1) @ WEIGHTS, axis=1))
    assert attack.success_rate(np.zeros(DIM)) == 0.0
    result = zofw.minimize(attack, zofw.L2Ball(6.0), method="zo-fw", budget=20_000, rng=0)
    assert attack.success_rate(result.x) > 0.5


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"images": np.zeros((0, *SHAPE)), "labels": []}, ValueError, "at least one image"),
        ({"images": np.zeros(3)}, ValueError, "at least one image"),
        ({"images": 255 * images()}, ValueError, r"pixels in \[−½, ½\]; they range from"),
        ({"images": np.full((1, 2), np.nan), "labels": [0]}, ValueError, "pixels in"),
        ({"labels": LABELS[:-1]}, ValueError, "labels to be one whole number ≥ 0 for each of the 12 images"),
        ({"labels": LABELS + 0.5}, ValueError, "labels to be one whole number"),
        ({"labels": LABELS - 9}, ValueError, "labels to be one whole number"),
        ({"targeted": True}, ValueError, "needs a target class"),
        ({"target": 3}, ValueError, "do not go together"),
        ({"targeted": True, "target": -1}, ValueError, "target to be one whole number"),
        ({"device": "cpu"}, ValueError, "device goes with a torch module"),
        ({"model": 7}, TypeError, "torch module or a function; got int"),
        ({"batch_size": 0}, ValueError, "batch_size should be at least 1"),
    ],
)
def test_bad_settings_end_in_a_sentence(changes, error, sentence):
    settings = {"model": Judge(), "images": images(), "labels": LABELS, **changes}
    with pytest.raises(error, match=sentence):
        UniversalAttack(**settings)


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, CLASSES - 1), (N - 1, CLASSES), (N, CLASSES, 1)])
def test_scores_of_the_wrong_shape_are_named(shape):
    labels = np.full(N, CLASSES - 1)
    attack = UniversalAttack(lambda pixels: np.zeros(shape), images(), labels)
    with pytest.raises(
        EvaluationError, match=r"given 12 images and should return scores of shape \(12, classes\)"
    ):
        attack.value(np.zeros(DIM))


def test_scores_that_are_not_finite_name_their_image():
    def model(pixels):
        scores = np.zeros((len(pixels), CLASSES))
        scores[3, LABELS[3]] = np.nan
        return scores

    with pytest.raises(EvaluationError, match="returned nan for component 3"):
        evaluate(UniversalAttack(model, images(), LABELS), Query(np.zeros(DIM), Batch(N)))


def test_a_model_that_fails_is_chained():
    def model(pixels):
        raise ConnectionError("the line is dead")

    with pytest.raises(EvaluationError, match="The model raised ConnectionError: the line is dead") as caught:
        UniversalAttack(model, images(), LABELS).value(np.zeros(DIM))
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_function_has_no_gradient_and_a_point_has_a_dimension():
    attack = UniversalAttack(Judge(), images(), LABELS)
    with pytest.raises(TypeError, match="only a torch module has a gradient"):
        attack.gradient(np.zeros(DIM))
    with pytest.raises(ValueError, match="x needs 18 coordinates"):
        attack.value(np.zeros(3))


def network(dtype: str = "float64"):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    layers = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(DIM, CLASSES), torch.nn.Tanh()
    )
    layers = layers.to(getattr(torch, dtype))
    with torch.no_grad():
        layers[2].weight.copy_(torch.tensor(WEIGHTS.T))
        layers[2].bias.zero_()
    return layers


@pytest.mark.parametrize(("dtype", "places"), [("float64", 1e-12), ("float32", 1e-5)])
def test_a_module_and_a_function_are_the_same_classifier(dtype, places):
    net = network(dtype)
    attack, plain = UniversalAttack(net, images(), LABELS), UniversalAttack(Judge(), images(), LABELS)
    assert not net.training
    points = np.random.default_rng(6).normal(size=(3, DIM))
    points.setflags(write=False)
    index = np.array([2, 2, 9])
    np.testing.assert_allclose(attack.values(points, index), plain.values(points, index), atol=places)
    np.testing.assert_allclose(attack.pairs(points, index), plain.pairs(points, index), atol=places)
    assert attack.success_rate(points[0]) == plain.success_rate(points[0])


@pytest.mark.parametrize("targeted", [False, True])
def test_the_gradient_of_a_module_is_that_of_the_mean_margin(targeted):
    attack = UniversalAttack(
        network(),
        images(),
        LABELS,
        targeted=targeted,
        target=1 if targeted else None,
        device="cpu",
        batch_size=5,
    )
    x, h = 0.1 * np.random.default_rng(7).normal(size=DIM), 1e-6
    slopes = [(attack.value(x + h * e) - attack.value(x - h * e)) / (2 * h) for e in np.eye(DIM)]
    np.testing.assert_allclose(attack.gradient(x), slopes, atol=1e-8)


def test_a_module_without_parameters_takes_single_precision():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

    class Corner(torch.nn.Module):
        def forward(self, pixels):
            assert pixels.dtype == torch.float32
            return pixels.flatten(1)[:, :CLASSES]

    assert np.isfinite(UniversalAttack(Corner(), images(), LABELS).value(np.zeros(DIM)))


def test_an_attack_can_be_sent_to_another_process():
    attack = UniversalAttack(network(), images(), LABELS)
    again = pickle.loads(pickle.dumps(attack))
    x = np.ones(DIM)
    assert again.value(x) == attack.value(x)
    assert copy.deepcopy(attack).value(x) == attack.value(x)


def test_a_query_spends_its_time_in_the_network(data_folder):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    from zofw_paper.data import load
    from zofw_paper.targets import mnist_carlini, predict

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        net, data = mnist_carlini(), load("mnist")
        ones = data.centred()[data.labels == 1][:40]
        assert (predict(net, ones) == 1).all()
        attack = UniversalAttack(net, ones, np.ones(len(ones), dtype=int))
        spent: list[float] = []
        begun: list[float] = []
        net.register_forward_pre_hook(lambda *_: begun.append(time.perf_counter()))
        net.register_forward_hook(lambda *_: spent.append(time.perf_counter() - begun[-1]))
        rng = np.random.default_rng(0)
        query = Query(np.zeros((2, 784)), Batch(40, rng.integers(40, size=20)), Gaussian().draw(rng, 784, 8), 0.01,
                      Stencil.CENTRAL)  # fmt: skip
        evaluate(attack, query)
        shares = []
        for _ in range(7):  # whoever else uses the machine takes from either side: the best share is ours
            spent.clear()
            start = time.perf_counter()
            evaluate(attack, query)
            shares.append(sum(spent) / (time.perf_counter() - start))
    finally:
        torch.set_num_threads(before)
    assert attack.success_rate(np.zeros(784)) == 0.0
    assert max(shares) >= 0.9, shares


def test_in_pixels_the_radius_is_that_of_the_images():
    judge = Judge()
    attack = UniversalAttack(judge, images(), LABELS, space="pixels")
    rng = np.random.default_rng(3)
    points, index = 0.2 * rng.normal(size=(5, DIM)), np.array([0, 7, 7, 11])
    for x, row in zip(points, attack.values(points, index), strict=True):
        for i, margin in zip(index, row, strict=True):
            scores = np.tanh(np.clip(images()[i].ravel() + x, -0.5, 0.5) @ WEIGHTS)
            assert margin == pytest.approx(scores[LABELS[i]] - np.delete(scores, LABELS[i]).max())
    eps = 8 / 255
    result = zofw.minimize(attack, zofw.LinfBall(eps), budget=3_000, rng=0)
    change = attack.adversarial(result.x) - images()
    assert np.abs(change).max() <= eps * (1 + 1e-12) and np.abs(attack.adversarial(result.x)).max() <= 0.5
    assert result.fun < attack.value(np.zeros(DIM))
    np.testing.assert_array_equal(attack.adversarial(np.zeros(DIM)), images())
    with pytest.raises(ValueError, match="'tanh' or 'pixels'"):
        UniversalAttack(judge, images(), LABELS, space="bytes")


def test_a_network_in_pixels_is_the_function_in_pixels():
    torch = pytest.importorskip("torch", reason="torch is not installed (extra torch)")
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(DIM, CLASSES)).double()
    module = UniversalAttack(network, images(), LABELS, space="pixels")

    def function(pixels):
        with torch.no_grad():
            return network(torch.from_numpy(pixels)).numpy()

    x = 0.2 * np.random.default_rng(0).normal(size=DIM)
    np.testing.assert_allclose(
        module.margins(x), UniversalAttack(function, images(), LABELS, space="pixels").margins(x)
    )
    along, step = np.random.default_rng(1).normal(size=DIM), 1e-7
    slope = (module.value(x + step * along) - module.value(x - step * along)) / (2 * step)
    assert module.gradient(x) @ along == pytest.approx(slope, rel=1e-4)
