"""
One perturbation for all images
===============================

A network answers with scores and shows nothing else. Is there one perturbation of bounded size that makes it err on every
image of a "1"? Each query is one image sent to the network. With torch and MNIST at hand the target is Carlini and
Wagner's network; otherwise a small one is trained on scikit-learn's digits.
"""

import matplotlib.pyplot as plt
import numpy as np

import zofw


def mnist_target():
    """Carlini and Wagner's network and 40 images it recognises, or None where they are not at hand."""
    try:
        from zofw_paper.data import load
        from zofw_paper.targets import mnist_carlini, predict

        network, images = mnist_carlini(), load("mnist")
    except (ImportError, ValueError):
        return None
    ones = np.flatnonzero(images.labels == 1)[:40]
    chosen = images.centred()[ones]
    right = predict(network, chosen) == 1
    return "MNIST, Carlini and Wagner's network", network, chosen[right], images.labels[ones][right]


def digits_target():
    """A multilayer perceptron on 8×8 digits, and the images it recognises."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    digits = load_digits()
    pixels = digits.images / 16 - 0.5
    network = MLPClassifier((32,), max_iter=40, random_state=0, learning_rate_init=0.01, tol=1e-2)
    network.fit(pixels.reshape(len(pixels), -1), digits.target)

    def scores(images):
        return network.predict_log_proba(images.reshape(len(images), -1))

    ones = np.flatnonzero((digits.target == 1) & (network.predict(pixels.reshape(len(pixels), -1)) == 1))[:40]
    return "scikit-learn's digits, a small perceptron", scores, pixels[ones], digits.target[ones]


name, network, images, labels = mnist_target() or digits_target()
attack = zofw.problems.UniversalAttack(network, images, labels)
print(f"{name}: {attack.n} images of {attack.dim} pixels, all recognised")

# %%
# The loss of an image is its margin, negative where the network errs. It is neither convex nor smooth.

size = 40 * np.sqrt(attack.dim / 784)
method = zofw.papers.ZOSFW(batch_size=5, directions=40, stencil=zofw.core.Stencil.CENTRAL, radius=3e-2)
result = zofw.minimize(attack, zofw.L2Ball(size), method=method, budget=12_000, rng=0, diagnose=8)
print(
    f"{result.nfev:,} images sent: {attack.success_rate(result.x):.0%} of the images are misread, "
    f"mean distortion {attack.distortion(result.x):.2f}"
)

# %%
fooled = attack.adversarial(result.x)
side = images.shape[-2:]
figure, axes = plt.subplots(2, 6, figsize=(10, 3.6), layout="constrained")
for column in range(5):
    axes[0, column].imshow(images[column].reshape(side), cmap="gray", vmin=-0.5, vmax=0.5)
    axes[1, column].imshow(fooled[column].reshape(side), cmap="gray", vmin=-0.5, vmax=0.5)
axes[0, 5].imshow(result.x.reshape(side), cmap="RdBu")
axes[0, 5].set_title("perturbation", fontsize=9)
for ax in axes.flat:
    ax.set_axis_off()
axes[1, 5].set_axis_on()
axes[1, 5].plot(result.trace.queries, result.trace.objective)
axes[1, 5].set_xlabel("images sent", fontsize=8)
axes[1, 5].set_ylabel("mean margin", fontsize=8)
plt.show()
