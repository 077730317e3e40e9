"""A universal perturbation as an attack of ART, on classifiers that show their scores and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("art", reason="the Adversarial Robustness Toolbox is not installed (extra art)")

from art.attacks.attack import EvasionAttack
from art.estimators.classification import BlackBoxClassifier, BlackBoxClassifierNeuralNetwork
from art.utils import to_categorical

import zofw
from zofw.adapters import UniversalPerturbation

SHAPE, CLASSES = (1, 4, 4), 3
WEIGHTS = np.random.default_rng(0).standard_normal((16, CLASSES))


class Target:
    """A linear model behind a wall, counting the images it is sent and remembering their range."""

    def __init__(self, probabilities=False):
        self.images, self.low, self.high = 0, np.inf, -np.inf
        self.probabilities = probabilities

    def __call__(self, x):
        assert x.shape[1:] == SHAPE and x.dtype == np.float32
        self.images += len(x)
        self.low, self.high = min(self.low, x.min()), max(self.high, x.max())
        scores = x.reshape(len(x), -1) @ WEIGHTS
        if not self.probabilities:
            return scores
        chances = np.exp(20 * (scores - scores.max(axis=1, keepdims=True)))
        return chances / chances.sum(axis=1, keepdims=True)


def classifier(target, kind=BlackBoxClassifierNeuralNetwork, clip_values=(0.0, 1.0)):
    return kind(target, input_shape=SHAPE, nb_classes=CLASSES, clip_values=clip_values)


def images(n=12, label=0):
    """Images of one class, as the model sees it."""
    x = np.random.default_rng(1).uniform(0.1, 0.9, (400, *SHAPE)).astype(np.float32)
    return x[(x.reshape(len(x), -1) @ WEIGHTS).argmax(axis=1) == label][:n]


@pytest.mark.parametrize("kind", [BlackBoxClassifierNeuralNetwork, BlackBoxClassifier])
@pytest.mark.parametrize(("norm", "eps"), [(np.inf, 0.2), ("inf", 0.2), (2, 0.9)])
def test_it_fools_within_the_ball_the_clip_values_and_the_budget(kind, norm, eps):
    target, x = Target(), images()
    attack = UniversalPerturbation(classifier(target, kind), norm=norm, eps=eps, budget=3_000, rng=0)
    assert isinstance(attack, EvasionAttack)
    fooled = attack.generate(x)
    assert attack.queries == target.images <= 3_000
    assert attack.queries == attack.result.nfev + 2 * len(x)
    assert fooled.shape == x.shape and fooled.dtype == x.dtype
    assert target.low >= 0.0 and target.high <= 1.0 and fooled.min() >= 0.0 and fooled.max() <= 1.0
    assert np.linalg.norm(attack.noise.ravel().astype(float), float(norm)) <= eps * (1 + 1e-6)
    np.testing.assert_allclose(fooled, np.clip(x + attack.noise, 0, 1), atol=1e-7)
    rate = np.mean((fooled.reshape(len(x), -1) @ WEIGHTS).argmax(axis=1) != 0)
    assert attack.fooling_rate == rate == 1.0


@pytest.mark.parametrize("labels", ["numbers", "one-hot"])
def test_labels_save_queries(labels):
    target, x = Target(), images()
    y = np.zeros(len(x), dtype=int) if labels == "numbers" else to_categorical(np.zeros(len(x)), CLASSES)
    attack = UniversalPerturbation(classifier(target), eps=0.2, budget=2_000, rng=0)
    attack.generate(x, y)
    assert attack.queries == target.images == attack.result.nfev + len(x)


def test_targeted_towards_given_classes():
    target, x = Target(), images()
    attack = UniversalPerturbation(classifier(target), eps=0.3, targeted=True, budget=3_000, rng=0)
    with pytest.raises(ValueError, match="targeted attack needs y"):
        attack.generate(x)
    fooled = attack.generate(x, np.full(len(x), 2))
    assert attack.fooling_rate == np.mean((fooled.reshape(len(x), -1) @ WEIGHTS).argmax(axis=1) == 2) > 0.9


def test_probabilities_that_have_flattened_out():
    x = images()
    rates = []
    for probabilities in (True, False):
        attack = UniversalPerturbation(
            classifier(Target(probabilities=True)), eps=0.2, probabilities=probabilities, budget=3_000, rng=0
        )
        attack.generate(x)
        rates.append(attack.fooling_rate)
    assert rates[0] == 1.0 >= rates[1]


@pytest.mark.parametrize("method", ["zo-sfw", zofw.ZSFWDVR(batch_size=4, directions=4, radius=1e-2)])
def test_any_method_and_any_set(method):
    target, x = Target(), images()
    attack = UniversalPerturbation(
        classifier(target), set=zofw.KSparse(4, 0.5), method=method, budget=3_000, rng=0, batch_size=7
    )
    attack.generate(x)
    assert attack.queries == target.images <= 3_000
    assert zofw.KSparse(4, 0.5).contains(attack.result.x)


def test_clip_values_for_each_feature_and_none():
    x = images()
    high = np.full(SHAPE, 1.0, dtype=np.float32)
    high[0, 0, 0] = 0.9
    attack = UniversalPerturbation(
        classifier(Target(), clip_values=(np.zeros(SHAPE, np.float32), high)), eps=0.2, budget=500, rng=0
    )
    assert attack.generate(x)[:, 0, 0, 0].max() <= np.float32(0.9)
    free = UniversalPerturbation(classifier(Target(), clip_values=None), eps=2.0, budget=500, rng=0)
    np.testing.assert_array_equal(free.generate(x), x + free.noise)


def test_whole_numbers_and_lists_go_in():
    x = (255 * images()).astype(np.uint8)
    attack = UniversalPerturbation(classifier(Target(), clip_values=(0, 255)), eps=50, budget=2_000, rng=0)
    fooled = attack.generate(x)
    assert fooled.dtype == np.float32 and attack.fooling_rate > 0.9
    assert attack.generate(x=[*images()]).shape == x.shape


def test_the_same_seed_gives_the_same_noise_and_settings_may_change():
    attack = UniversalPerturbation(classifier(Target()), eps=0.2, budget=400, rng=3)
    first = attack.generate(images())
    np.testing.assert_array_equal(first, attack.generate(images()))
    attack.set_params(eps=0.05, norm=2)
    attack.generate(images())
    assert np.linalg.norm(attack.noise.astype(float)) <= 0.05 * (1 + 1e-6)
    with pytest.raises(ValueError, match="eps should be a positive number; got -1"):
        attack.set_params(eps=-1)
    assert "eps" in repr(attack)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"norm": 3}, "norm should be np.inf, 2 or 1; got 3"),
        ({"norm": "two"}, "norm should be np.inf, 2 or 1; got 'two'"),
        ({"budget": 0}, "budget should be a whole number"),
        ({"batch_size": 1.5}, "batch_size should be a whole number"),
        ({"targeted": 1}, "targeted should be True or False"),
    ],
)
def test_bad_settings_end_in_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        UniversalPerturbation(classifier(Target()), **settings)


def test_bad_inputs_end_in_a_sentence():
    attack = UniversalPerturbation(classifier(Target()), budget=20)
    with pytest.raises(ValueError, match="labels and the fooling rate of 12 inputs take 24 of it"):
        attack.generate(images())
    with pytest.raises(ValueError, match="at least one input"):
        attack.generate(images()[:0])
    with pytest.raises(ValueError, match="12 inputs and 3 labels"):
        attack.generate(images(), np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="classes from 0 to 2; they range from 0 to 7"):
        attack.generate(images(3), np.array([0, 1, 7]))
    with pytest.raises(TypeError, match="mask was given as well"):
        attack.generate(images(), mask=1)
    assert attack.queries == 0


def network_of_torch(seed):
    torch = pytest.importorskip("torch", reason="torch is not installed (extra torch)")
    from art.estimators.classification import PyTorchClassifier

    torch.manual_seed(seed)
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, CLASSES)
    )
    return PyTorchClassifier(
        module, torch.nn.CrossEntropyLoss(), SHAPE, CLASSES, clip_values=(0, 1), device_type="cpu"
    )


def test_networks_of_torch_are_fooled_from_half_of_the_seeds():
    fooled = 0
    for target in map(network_of_torch, range(8)):
        x = images()
        before = target.predict(x).argmax(axis=1)
        for rng in range(3):
            attack = UniversalPerturbation(target, eps=0.5, budget=3_000, rng=rng)
            after = target.predict(attack.generate(x)).argmax(axis=1)
            assert attack.fooling_rate == np.mean(before != after)
            fooled += attack.fooling_rate > 0.5
    assert fooled >= 12
