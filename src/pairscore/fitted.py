"""What a fitted model keeps of its fit."""

from typing import Any

import numpy as np

from pairscore.comparisons import Comparisons
from pairscore.moments import feature_range
from pairscore.record import make_record
from pairscore.settings import Settings
from pairscore.study import Estimate
from pairscore.summary import agreement_and_noise


def keep_fit(model: Any, data: Comparisons, result: Estimate, settings: Settings, has_items: bool) -> None:
    """Set what a fit found as attributes of the model."""
    d, link = len(result.coef), settings.link
    model.n_features_in_, model.link_ = d, link
    if has_items:
        model.feature_names_in_ = np.array(data.items.feature_names, dtype=object)
    model.coef_, model.closed_form_coef_, model.side_effect_ = result.coef, result.closed_form_coef, result.side_effect
    open_bases = [result.basis] if result.side_basis is None else [result.basis, result.side_basis]
    model.undetermined_ = np.any([basis.undetermined[:d] for basis in open_bases], axis=0)
    model.open_directions_ = np.hstack([basis.open_directions[:d] for basis in open_bases])
    _keep_errors(model, result, d)
    model.feature_mean_, model.feature_sd_ = result.center.mean, result.center.sd
    model.feature_min_, model.feature_max_ = feature_range(data.items.values, data.compared)
    model.n_items_ = int(np.count_nonzero(data.compared)) if has_items else None
    model.n_comparisons_ = float(data.amount.sum())
    model.inference_, model.guard_, model.pairing_, model.n_iter_ = result.inference, result.guard, result.pairing, result.n_iterations
    model.l2_, model.ridge_curve_ = (settings.l2 if result.ridge is None else result.ridge.chosen), result.ridge
    model.item_effects_ = result.item_effects
    model.notes_ = [text for _, text in result.notes]
    model.ties_ = settings.ties
    model.effects_, model.judges_ = result.effects, result.judges
    model.agreement_, model.noise_, model.tie_share_ = agreement_and_noise(result.difference, data, model.outcome_law)
    model.record_ = make_record(data)
    model.comparisons_ = data if has_items else None
    model.recipe_ = data.items.recipe


def _keep_errors(model: Any, result: Estimate, d: int) -> None:
    """Covariance and standard errors; NaN for what the data do not determine."""
    model.covariance_ = model.std_errors_ = model.side_effect_std_error_ = None
    if result.covariance is not None:
        model.covariance_ = result.covariance[:d, :d]
        model.std_errors_ = np.where(model.undetermined_, np.nan, np.sqrt(np.diag(model.covariance_)))
        if result.effects is not None:
            model.side_effect_std_error_ = dict(zip(result.effects.names, result.effects.std_errors.tolist(), strict=True)).get("left")
        elif result.side_effect is not None:
            side_open = result.side_basis is not None and bool(result.side_basis.undetermined[d])
            model.side_effect_std_error_ = float("nan") if side_open else float(np.sqrt(result.covariance[d, d]))
