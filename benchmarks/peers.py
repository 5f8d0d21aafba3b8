"""What other programs do, tried on a small study: the cells of docs/comparison.md that were run.

`python -m benchmarks.peers` in the environment of `benchmarks/bradley_terry.py`; `peers.R` is the
same for the programs in R. Prints program, feature and the beginning of what came out.
"""

import os
import signal
import subprocess
import sys
import warnings
from functools import cache

import numpy as np

from benchmarks.bradley_terry import draw

N, M = 12, 600
LONG = 120  # seconds


@cache
def study():
    """Left, right, outcome, context, features of items, y = 0, 1/2 or 1, feature differences."""
    left, right, outcome, context = draw(N, M, 2, 0.4)
    X = np.random.RandomState(1).standard_normal((N, 2))
    return left, right, outcome, context, X, 0.5 + 0.5 * outcome, X[left] - X[right]


@cache
def evalica_votes():
    import evalica

    left, right, outcome = study()[:3]
    words = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}
    return left, right, [words[one] for one in outcome.tolist()]


def decided():
    """(winner, loser) of comparisons that are not tied."""
    left, right, outcome = study()[:3]
    rows = zip(left.tolist(), right.tolist(), outcome.tolist(), strict=True)
    return [(a, b) if won > 0 else (b, a) for a, b, won in rows if won]


def of_choix():
    import choix

    yield "ridge", lambda: choix.opt_pairwise(N, decided(), alpha=1.0)
    yield "posterior covariance", lambda: choix.ep_pairwise(N, decided(), alpha=0.1)[1].diagonal()
    yield "rankings", lambda: choix.ilsr_rankings(3, [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
    yield "first choices", lambda: choix.ilsr_top1(3, [(0, (1, 2)), (1, (0, 2)), (2, (0, 1))])
    yield "always wins", lambda: choix.ilsr_pairwise(3, [(0, 1), (1, 2), (0, 2)])


def of_evalica():
    import evalica

    votes, won = evalica_votes(), [evalica.Winner.X] * 4
    how = {"n_resamples": 20, "random_state": 0}
    yield "ties as half wins", lambda: evalica.bradley_terry(*votes).scores.to_numpy()
    yield "ties as an outcome", lambda: evalica.newman(*votes).v
    yield "Elo by order", lambda: evalica.elo(*votes).scores.to_numpy()
    yield "PageRank", lambda: evalica.pagerank(*votes).scores.to_numpy()
    yield "weights", lambda: evalica.bradley_terry(*votes, weights=np.ones(M)).scores.to_numpy()
    yield "bootstrap", lambda: evalica.bootstrap(evalica.bradley_terry, *votes, **how).low
    yield "always wins", lambda: evalica.bradley_terry(["a", "b", "a"], ["b", "c", "c"], won[:3])
    yield "two groups", lambda: evalica.bradley_terry(list("abcd"), list("badc"), won)


def of_statsmodels():
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    left, right, outcome, context, _, y, difference = study()
    model = sm.GLM(y, difference, family=sm.families.Binomial())
    sided = sm.GLM(y, np.column_stack([difference, np.ones(M)]), family=sm.families.Binomial())
    ends = {"cov_type": "cluster", "cov_kwds": {"groups": np.column_stack([left, right])}}
    items = np.eye(N)[left] - np.eye(N)[right]
    mixed = sm.BinomialBayesMixedGLM(y > 0.5, difference, items, np.zeros(N, dtype=int))
    ordered = OrderedModel(outcome + 1, np.hstack([items[:, 1:], context]), distr="logit")
    yield "features", lambda: model.fit().params
    yield "side", lambda: sided.fit().params
    yield "clusters of left, of right", lambda: model.fit(**ends).bse
    yield "Wald's test", lambda: model.fit().wald_test(np.eye(2), scalar=True).pvalue
    yield "ridge", lambda: model.fit_regularized(alpha=0.1, L1_wt=0.0).params
    yield "item effects", lambda: mixed.fit_vb().vcp_mean
    yield "ties as an outcome", lambda: ordered.fit(method="bfgs", maxiter=500, disp=0).params


def of_scikit_learn():
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    y, difference = study()[5:]
    online = SGDClassifier(loss="log_loss", fit_intercept=False)
    yield "features, ridge", lambda: LogisticRegression(C=1.0).fit(difference, y > 0.5).coef_
    lasso = LogisticRegression(l1_ratio=1, solver="saga")
    yield "lasso", lambda: lasso.fit(difference, y > 0.5).coef_
    yield "streaming", lambda: online.partial_fit(difference, y > 0.5, classes=[0, 1]).coef_


def of_arena_rank():
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset, PairDataset

    left, right, outcome, context = study()[:4]
    winner = np.array(["model_b", "tie", "model_a"])[outcome + 1]
    frame = pd.DataFrame({"model_a": left, "model_b": right, "winner": winner, "one": 1.0})
    frame[["a", "b"]] = context
    always = pd.DataFrame({"model_a": list("aba"), "model_b": list("bcc"), "winner": "model_a"})
    pairs, names = PairDataset.from_pandas, ["a", "b"]
    own = {"reweighted": False, "normalize_features": False}
    sided = ContextualPairDataset.from_pandas(frame, ["a", "one"], **own)
    plain = ContextualPairDataset.from_pandas(frame, names, **own)
    usual = ContextualPairDataset.from_pandas(frame, names)
    weighted = pairs(frame, reweighted=True, min_pair_count=1)

    def coefficients(data, **settings):
        return ContextualBradleyTerry(N, 2, **settings).fit(data).params["coeffs"]

    def intervals(data, n):
        found = BradleyTerry(n).compute_ratings_and_cis(data)
        return np.column_stack([found["ratings"], found["rating_lower"], found["rating_upper"]])

    yield "pairs of equal weight", lambda: BradleyTerry(N).fit(weighted).params["ratings"]
    yield "sandwich intervals", lambda: intervals(pairs(frame), N)
    yield "side", lambda: coefficients(sided, reg=0.0)
    yield "context, no ridge", lambda: coefficients(plain, reg=0.0)
    yield "context, its defaults", lambda: coefficients(usual)
    yield "always wins", lambda: intervals(pairs(always), 3)
    yield "bootstrap", run_bootstrap


def run_bootstrap():
    """In processes of its own, which are ended if they wait for each other."""
    command = [sys.executable, "-m", "benchmarks.peers", "bootstrap"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            return process.communicate(timeout=LONG)[0].decode()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def arena_rank_bootstrap():
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    left, right, outcome = study()[:3]
    winner = np.array(["model_b", "tie", "model_a"])[outcome + 1]
    frame = pd.DataFrame({"model_a": left, "model_b": right, "winner": winner})
    how = {"ci_method": "bootstrap", "num_bootstrap": 4, "n_jobs": 1}
    print(BradleyTerry(N).compute_ratings_and_cis(PairDataset.from_pandas(frame), **how))


PROGRAMS = {
    "arena-rank": of_arena_rank,
    "choix": of_choix,
    "evalica": of_evalica,
    "scikit-learn": of_scikit_learn,
    "statsmodels": of_statsmodels,
}


def main():
    warnings.simplefilter("ignore")
    for program, features in PROGRAMS.items():
        for feature, fit in features():
            try:
                seen = " ".join(str(fit()).split())
            except (ValueError, subprocess.TimeoutExpired) as error:
                seen = f"FAILED: {error}"
            print(program, feature, seen[:120], sep=" | ", flush=True)


if __name__ == "__main__":
    arena_rank_bootstrap() if sys.argv[1:] else main()
