"""How robust is this classifier to one perturbation for all images, within ℓ∞ 8/255, when only its scores can be asked?

Needs, in a clone: pip install '.[data]'
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import zofw

images, labels = load_digits(return_X_y=True)
images = images / 16 - 0.5  # pixels in [−½, ½]
model = LogisticRegression(max_iter=300).fit(images[:1000], labels[:1000])


def scores(batch):
    """All that the attack may ask: log-probabilities of images, one query each."""
    return model.predict_log_proba(batch.reshape(len(batch), -1))


held_out, classes = images[1000:1200], labels[1000:1200]
right = model.predict(held_out) == classes
attack = zofw.problems.UniversalAttack(scores, held_out[right], classes[right], space="pixels")

for eps in (8 / 255, 32 / 255, 64 / 255):
    result = zofw.minimize(attack, zofw.LinfBall(eps), budget=30_000, rng=0)
    delta = result.x
    assert np.abs(delta).max() <= eps * (1 + 1e-9) and result.nfev <= 30_000
    print(
        f"ℓ∞ {eps * 255:.0f}/255: {attack.success_rate(delta):.0%} of {attack.n} images fooled, "
        f"mean ℓ2 change {attack.distortion(delta):.2f}, {result.nfev:,} images sent"
    )
