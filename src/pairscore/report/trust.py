"""How well the model fits, as cards of a report.

Held-out accuracy, calibration, residuals, comparisons per item.
"""

from html import escape

import numpy as np

from pairscore.report.charts import accuracy_chart, bar_chart, calibration_chart, residual_chart
from pairscore.report.facts import ReportFacts
from pairscore.report.pieces import card, paragraph, percent, table
from pairscore.report.trials import Trial
from pairscore.report.words import number_of, short, signed

LARGEST = 8
LONGEST = 26.0  # of a name in a small table, in font sizes


def trust(facts: ReportFacts) -> str:
    """Held-out accuracy and the methods side by side, calibration, residuals, comparisons per item."""
    cards = (
        _accuracy_card(facts)
        + _calibration_card(facts)
        + _residual_card(facts)
        + _exposure_card(facts)
    )
    return f'<section><h2>How well does it fit?</h2><div class="cards">{cards}</div></section>'


def _accuracy_card(facts: ReportFacts) -> str:
    held, own, tried = (
        facts.held_out,
        facts.own_trial,
        [trial for trial in facts.trials if not trial.reason],
    )
    tested, called = (
        any(np.isfinite(share) for share in shares)
        for shares in zip(*((t.held_out, t.in_sample) for t in tried), strict=True)
    )
    key = '<span class="key-own">held out (faint: each fold)</span> ' if tested else ""
    key += (
        '<span class="key-other">in sample: a ceiling, for it flatters</span>. The line is a coin.'
    )
    how = f"Items cannot be held out here: {held.reason}"
    if not held.reason:
        how = (
            f"Held out: in each of {held.n_folds} folds of items, comparisons between two items"
            f" that the fit had not seen ({held.n_tested:,.10g} in all); "
        )
        how += (
            f"it learnt from {percent(held.share_trained, 0)} of the comparisons, so the full fit"
            " is a little better."
        )
    promise = (
        f"If the model is right, {percent(1 - facts.noise)} is as far as any score of these"
        " features gets."
        if np.isfinite(own.in_sample)
        else ""
    )
    meaning = (
        "Degrees: how far two methods' scores are turned from each other; x° puts about x/180 of"
        " the pairs in another order."
    )
    missing = "".join(
        paragraph(f"{trial.method} is not shown: {trial.reason}")
        for trial in facts.trials
        if trial.reason
    )
    chart = accuracy_chart(tried, facts.method) if tested or called else ""
    texts = (
        key if chart else "",
        paragraph(f"{how} {promise}"),
        _methods_table(tried, tested, facts.method),
        paragraph(meaning),
        missing,
    )
    return card("Called rightly, by every method", chart, *texts)


def _methods_table(tried: list[Trial], tested: bool, own: str) -> str:
    """Shares called rightly and angles between the scores.

    No column of what was held out where nothing was.
    """
    rows = [
        [
            trial.method,
            *(
                percent(share).replace(" ", "\u00a0")
                for share in ((trial.in_sample, trial.held_out) if tested else (trial.in_sample,))
            ),
            *(f"{value:.1f}°" if np.isfinite(value) else "" for value in trial.degrees),
        ]
        for trial in tried
    ]
    return table(
        [
            "method",
            "in sample",
            *(["held out"] if tested else []),
            *(f"to {trial.method}" for trial in tried),
        ],
        rows,
        [2 + tested + place for place, trial in enumerate(tried) if trial.method != own],
    )


def _calibration_card(facts: ReportFacts) -> str:
    key = (
        '<span class="key-own">held out</span> ' if facts.held_out_calibration else ""
    ) + '<span class="key-other">in sample</span>. '
    about = (
        "On the line, favourites win as often as promised; below it, the score is too sure of"
        " itself. Ties are half a win."
    )
    rows = [
        [
            f"{one.low:.0%} to {one.high:.0%}, {what}",
            percent(one.promised),
            percent(one.observed),
            f"{one.number:,.6g}",
        ]
        for what, bins in (
            ("in sample", facts.calibration),
            ("held out", facts.held_out_calibration),
        )
        for one in bins
    ]
    numbers = (
        "<details><summary>The"
        f" numbers</summary>{table(['promised between', 'promised', 'observed', 'number'], rows)}</details>"
    )
    caution = (
        "Bars and figures: comparisons in each bin. Intervals are 95 %, as if comparisons were"
        " independent."
    )
    return card(
        "Promised and observed",
        calibration_chart(facts.calibration, facts.held_out_calibration),
        key,
        escape(f"{about} {caution}"),
        numbers,
    )


def _residual_card(facts: ReportFacts) -> str:
    known = [item for item in facts.items if np.isfinite(item.residual)]
    largest = sorted(known, key=lambda item: -abs(item.residual))[:LARGEST]
    rows = [
        [
            short(item.name, LONGEST),
            f"{item.comparisons:.6g}",
            f"{item.net_wins:+.4g}",
            signed(item.expected, 1),
            signed(item.residual, 2),
        ]
        for item in largest
    ]
    numbers = table(["largest", "times compared", "net wins", "expected", "residual"], rows, [3])
    about = (
        "Net wins less what the model expects, over its standard deviation. If features explain the"
        " items, 19 of 20 lie between the dashed lines; those that do not have something that the"
        " features leave out."
    )
    return card(
        "Items that did better or worse than their features",
        residual_chart(facts.items),
        escape(about),
        numbers,
    )


def _exposure_card(facts: ReportFacts) -> str:
    number = np.array([item.comparisons for item in facts.items])
    compared = number[number > 0]
    never = len(number) - len(compared)
    about = f"A compared item was compared {number_of(np.median(compared), 'time')} (median)"
    about += (
        f", from {compared.min():.6g} to {compared.max():.6g} times."
        if np.ptp(compared) > 0
        else "; so was every other."
    )
    never_compared = (
        f"{number_of(never, 'item')}"
        f" {'was never compared and is' if never == 1 else 'were never compared and are'}"
    )
    extra = (
        f" {never_compared} scored by {'its' if never == 1 else 'their'} features alone."
        if never
        else ""
    )
    return card("Comparisons per item", bar_chart(facts.exposures), escape(about + extra))
