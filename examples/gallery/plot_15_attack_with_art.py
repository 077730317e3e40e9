"""
An attack through the Adversarial Robustness Toolbox
====================================================

If you test classifiers with ART, you can use universal perturbations from scores alone as one more of its attacks. The
target is a perceptron that reads handwritten digits and is wrapped as a black box: ART itself has no gradient of it. How
much may a perturbation change before one and the same spoils most of the sevens: every pixel a little, or a few pixels much?
"""

import matplotlib.pyplot as plt
import numpy as np
from art.estimators.classification import BlackBoxClassifierNeuralNetwork
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import zofw
from zofw.adapters import UniversalPerturbation

digits = load_digits()
pixels = (digits.images / 16).astype(np.float32)
network = MLPClassifier((32,), max_iter=40, random_state=0, learning_rate_init=0.01, tol=1e-2)
network.fit(pixels.reshape(len(pixels), -1), digits.target)


def probabilities(images):
    return network.predict_proba(images.reshape(len(images), -1))


target = BlackBoxClassifierNeuralNetwork(probabilities, input_shape=(8, 8), nb_classes=10, clip_values=(0, 1))
sevens = pixels[(digits.target == 7) & (target.predict(pixels).argmax(axis=1) == 7)][:20]

# %%
# A ball of the toolbox's norms is given by ``norm`` and ``eps``; any other set goes in as it is. Here it is the k-sparse
# polytope: its vertices change k pixels by its bound.

attacks = {
    "every pixel by at most 0.2": UniversalPerturbation(
        target, eps=0.2, probabilities=True, budget=3_000, rng=0
    ),
    "a length of at most 1.5": UniversalPerturbation(
        target, norm=2, eps=1.5, probabilities=True, budget=3_000, rng=0
    ),
    "few pixels by at most 1": UniversalPerturbation(
        target, set=zofw.KSparse(10, 1.0), probabilities=True, budget=3_000, rng=0
    ),
}
fooled = {name: attack.generate(sevens) for name, attack in attacks.items()}
for name, attack in attacks.items():
    print(
        f"{name}: {attack.fooling_rate:.0%} of {len(sevens)} sevens are misread, {attack.queries:,} images sent"
    )

# %%
figure, axes = plt.subplots(3, 6, figsize=(9, 5), layout="constrained")
for row, (name, attack) in zip(axes, attacks.items(), strict=True):
    row[0].imshow(attack.noise[0], cmap="RdBu", vmin=-1, vmax=1)
    row[0].set_title(name, fontsize=8)
    read = target.predict(fooled[name]).argmax(axis=1)
    for ax, image, digit in zip(row[1:], fooled[name], read, strict=False):
        ax.imshow(image, cmap="gray", vmin=0, vmax=1)
        ax.set_title(f"read as {digit}", fontsize=8)
for ax in axes.flat:
    ax.set_axis_off()
plt.show()
