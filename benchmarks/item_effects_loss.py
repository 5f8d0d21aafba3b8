"""Log-loss on new comparisons of known and of new items, with item effects and with its rivals.

Part of ``python -m benchmarks.item_effects loss``.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from scipy.stats import binom
from sklearn.linear_model import LogisticRegressionCV

from pairscore import Comparisons, RankRegression

N_ITEMS, N_FEATURES, N_ASKED = 300, 5, 4000
PER_ITEM = (1, 3, 10, 30, 100)
TOPIC = 10  # items, where only items of one topic meet
VOTES = 15  # of which the majority is the label
STRENGTHS = np.geomspace(0.01, 100, 9)  # inverse ridges that the rivals choose from


@dataclass(frozen=True)
class Family:
    """A kind of study: scores are ``length`` times what features say, and ``sd`` times effects."""

    name: str
    length: float = 1.0
    sd: float = 1.0
    heavy_effects: bool = False
    heavy_features: bool = False
    saturating: bool = False
    majority: bool = False
    topics: bool = False

    def draw(self, rng):
        """Features and scores of items of which the first half is known."""
        n = 2 * N_ITEMS
        X = rng.normal(size=(n, N_FEATURES))
        if self.heavy_features:
            X = rng.standard_t(2.5, size=(n, N_FEATURES))
        of_features = X.sum(axis=1) / np.sqrt(N_FEATURES)
        if self.saturating:
            of_features = 2 * np.tanh(1.5 * of_features)
        effects = rng.standard_t(3, n) if self.heavy_effects else rng.normal(size=n)
        return X, self.length * of_features + self.sd * effects

    def pairs(self, rng, first, number):
        """Pairs of items among those from ``first`` on."""
        left = rng.integers(0, N_ITEMS, number)
        if self.topics:
            mate = (left % TOPIC + rng.integers(1, TOPIC, number)) % TOPIC
            return first + left, first + left // TOPIC * TOPIC + mate
        return first + left, first + (left + rng.integers(1, N_ITEMS, number)) % N_ITEMS

    def chance(self, difference):
        """That left wins."""
        one = expit(difference)
        return binom.sf(VOTES // 2, VOTES, one) if self.majority else one


FAMILIES = [
    Family("features explain 50 %"),
    Family("features explain 8 %", length=0.3),
    Family("features explain 92 %", sd=0.3),
    Family("features explain 4 %, strong effects", sd=5.0),
    Family("effects with heavy tails (t, 3 degrees)", heavy_effects=True),
    Family("features with heavy tails (t, 2.5 degrees)", heavy_features=True),
    Family("features that saturate", saturating=True),
    Family("labels by a majority of 15", majority=True),
    Family("topics of 10 that never meet", topics=True),
]


def columns_of(X, left, right):
    """Differences of features, and 1 and -1 for the two items."""
    rows, n = np.arange(len(left)), len(X)
    signs = np.concatenate([np.ones(len(left)), -np.ones(len(left))])
    at = np.tile(rows, 2), np.concatenate([left, right])
    return sparse.csr_array(X[left] - X[right]), sparse.csr_array((signs, at), (len(left), n))


def rivals(X, left, right, outcome, rng):
    """scikit-learn's ridge by cross-validation, on features with identities and on these alone."""
    turned = np.where(rng.random(len(left)) < 0.5, -1.0, 1.0)  # so that both classes are there
    features, items = columns_of(X, left, right)
    models = []
    for columns in (sparse.hstack([features, items], format="csr"), items):
        model = LogisticRegressionCV(
            Cs=STRENGTHS, fit_intercept=False, scoring="neg_log_loss", cv=5, max_iter=300
        )
        models.append(model.fit(sparse.diags_array(turned) @ columns, turned * outcome))
    return models


def log_loss(truth, probability):
    """Expected log-loss of a probability where the true one is known."""
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    return -float(np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p)))


def calibration_slope(truth, probability):
    """Slope of observed on predicted, both as log-odds, by Newton's method."""
    at, slope = logit(np.clip(probability, 1e-12, 1 - 1e-12)), 1.0
    for _ in range(30):
        p = expit(slope * at)
        slope += np.sum(at * (truth - p)) / np.sum(at**2 * p * (1 - p))
    return slope


def study(family, per_item, rng):
    """For known and for new items: losses of item effects, features, the two rivals; slope."""
    X, score = family.draw(rng)
    left, right = family.pairs(rng, 0, N_ITEMS * per_item // 2)
    won = rng.random(len(left)) < family.chance(score[left] - score[right])
    data = Comparisons(X, left, right, np.where(won, 1, -1))
    both = RankRegression(item_effects=True, l2="auto").fit(data)
    features = RankRegression(inference=None, l2="auto").fit(data)
    joint, alone = rivals(X, left, right, data.outcome, rng)
    found = []
    for first in (0, N_ITEMS):
        left, right = family.pairs(rng, first, N_ASKED)
        truth = family.chance(score[left] - score[right])
        asked = Comparisons(data.items, left, right, np.ones(N_ASKED, dtype=np.int8))
        of_features, items = columns_of(X, left, right)
        chances = [
            both.predict_proba(asked)[:, 1],
            features.predict_proba(asked)[:, 1],
            joint.predict_proba(sparse.hstack([of_features, items], format="csr"))[:, 1],
            alone.predict_proba(items)[:, 1],
        ]
        found.append([*(log_loss(truth, p) for p in chances), calibration_slope(truth, chances[0])])
    return found


def loss_rows(n_studies, families=FAMILIES, per_item=PER_ITEM):
    """A line of the table for each family and number of comparisons of an item."""
    for place, family in enumerate(families):
        for number in per_item:
            found = np.array(
                [
                    study(family, number, np.random.default_rng([17, place, number, seed]))
                    for seed in range(n_studies)
                ]
            )
            yield family, number, found


def loss_table(n_studies):
    lines = [
        (
            f'{N_ITEMS} known and {N_ITEMS} new items, five features, `l2="auto"`; means over'
            f" {n_studies} studies of the log-loss on new"
        ),
        (
            "comparisons. The rivals are scikit-learn's `LogisticRegressionCV` on features and"
            " identities, and on"
        ),
        "identities alone. The excess is over the best of the three, ± its standard error.",
        "",
        (
            "| | comparisons of an item | known items: item effects | features | rival |"
            " identities | excess | slope | new items: item effects | features | rival | excess |"
            " slope |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for family, number, found in loss_rows(n_studies):
        cells = []
        for part, shown in zip(found.transpose(1, 0, 2), (4, 3), strict=True):
            mean = part.mean(axis=0)
            best = 1 + int(np.argmin(mean[1:4]))
            gap = (part[:, 0] - part[:, best]) / mean[best]
            error = gap.std(ddof=1) / np.sqrt(n_studies)
            cells += [f"{value:.4f}" for value in mean[:shown]]
            cells += [f"{gap.mean():+.1%} ± {error:.1%}", f"{mean[4]:.2f}"]
        lines.append(f"| {family.name} | {number} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines
