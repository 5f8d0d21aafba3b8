"""The paper's law, bound and decomposition; the error of a study before any data.

Start with ``population``: the law of the paper's section 7.

    population       the law of items and labels, to read constants off and to draw from
    draws            random comparisons and covariances, exact draws of estimates
    predicted_error  the error of a study that is not made yet
    direction_variance  the variance of that error in one direction
    integrals        averages of a link over normal items, on which both rest
    bound            Theorem 1, with its ten terms
    decomposition    the error of a simulated study, split by its sources

Documented names are also here: ``from pairscore.theory import theorem_bound``.

Imports: display, errors, choices, data, core, estimators.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "bound": "theorem_bound simplified_log_bound smallest_log_n_items",
    "decomposition": "Decomposition decompose decomposition_rows",
    "direction_variance": "LabelLaw label_constants",
    "integrals": "agreement_excess closed_form_length eta fisher_information flip_probability kappa"
    " length_information mean_derivative spread_for_noise win_excess",
    "population": "Population",
    "predicted_error": "ErrorLaw ErrorPrediction first_order_variance predict_error",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Documented names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore.theory' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.theory.{_HOME[name]}"), name)
