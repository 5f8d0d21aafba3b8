"""The sentences that a report begins with: who comes first, what of new items, what to look at."""

from typing import TYPE_CHECKING

import numpy as np

from pairscore.core.comparison_means import ENOUGH_TESTS
from pairscore.display import first_few
from pairscore.estimators.new_items import ITEMS_PER_FEATURE, LOST_ACCURACY
from pairscore.report.judges import CARELESS
from pairscore.report.words import advice_or_tried, number_of, percent, wins

if TYPE_CHECKING:
    from pairscore.report.checks import Check
    from pairscore.report.facts import ReportFacts
    from pairscore.report.held_out import WrongShare
    from pairscore.report.items import RankedItem

LEAST_SHOWN = 0.01  # share of pairs
NO_NEW_ITEMS = (
    "New items cannot be ranked: the model has no features, and knows only items that were"
    " compared."
)


def lead_sentences(facts: "ReportFacts") -> list[str]:
    """What the page says first, in plain sentences."""
    sentences = [*_groups(facts), _first_place(facts), *_careless_judges(facts)]
    if facts.has_intervals and facts.n_pairs:
        in_group = " in one group" if facts.groups else ""
        share = percent(facts.sure_pairs, 0)
        known = f"For {share} of all pairs{in_group} we can say which ranks higher (95 %"
        known += " confidence for each pair); the others are too close to call."
        if facts.sure_pairs == 0:
            known = f"For no pair{in_group} can we say which ranks higher (95 % confidence for each"
            known += " pair): all are too close to call."
        elif facts.sure_pairs < LEAST_SHOWN:
            known = known.replace(f"For {share}", f"For less than {percent(LEAST_SHOWN, 0)}")
        sentences.append(known)
    sentences += _judges(facts)
    sentences += new_items_sentences(facts, in_short=True)
    if not facts.has_features:  # with features, the section of coefficients begins with it
        sentences.append(facts.meaning)
    return [*filter(None, sentences), verdict_of_checks(facts.checks)]


def _judges(facts: "ReportFacts") -> list[str]:
    """That these judges differ in taste, where intervals hold for them alone."""
    if not (facts.for_these_judges and facts.judges_differ):
        return []
    return [f"{facts.judge_tastes.rstrip('.')}; the intervals {facts.interval_scope}."]


def _careless_judges(facts: "ReportFacts") -> list[str]:
    """Judges who are clearly less careful than the others."""
    found = [one.answer for one in facts.checks if one.question == CARELESS and not one.fine]
    return [f"Look at the judges: {answer}" for answer in found]


def _groups(facts: "ReportFacts") -> list[str]:
    """Within what ranks hold, where items fall into groups."""
    if not facts.groups:
        return []
    names = list(facts.groups)
    return [
        f"The comparisons do not tell how items of different groups compare, so ranks are within"
        f" groups: {first_few(names, 4)}."
        if len(names) > 1
        else f"All items are of one group ({names[0]}); items of other groups could not be"
        " compared with them."
    ]


def _first_place(facts: "ReportFacts") -> str:
    """Which item comes first and how surely; none does if all scores are the same."""
    items = facts.largest_group
    first = [item for item in items if item.rank == 1]
    of_all = number_of(len(items), "item") + (f" of {items[0].group}" if facts.groups else "")
    if len(first) == len(items):
        return f"All {of_all} have the same score, so none comes first."
    words = facts.wording
    top = f" ({words.top})" if words.top else ""
    against = (
        f"and {words.would_win} in {wins(first[0].wins_of_100)} of 100 {facts.decided} with the"
        " average one."
    )
    if len(first) > 1:
        names = first_few([item.name for item in first], 3)
        return f"{names} share the first place{top} of {of_all} {against}"
    sentence = f"{first[0].name} comes first{top} of {of_all} {against}"
    return f"{sentence} {_rank_in_words(first[0])}" if facts.has_intervals else sentence


def _rank_in_words(best: "RankedItem") -> str:
    ranks = f"lies between {best.rank_low:,} and {best.rank_high:,}"
    if best.rank_low == best.rank_high:
        ranks = f"is {best.rank_low:,}"
    return f"Its rank {ranks} (95 % confidence)."


def new_items_sentences(facts: "ReportFacts", in_short: bool = False) -> list[str]:
    """Accuracy on items that the fit had not seen, and what the best score would have.

    Without it, that in sample; nothing without either. Without features, of new comparisons.
    In short, without how it was found.
    """
    if not facts.has_features:
        return known_items_sentences(facts, in_short)
    trial, best = facts.trial, facts.best_accuracy
    if np.isfinite(trial.held_out):
        wrong = facts.wrong
        if not wrong.is_enough:
            return [f"New items: {_too_few(wrong, 'of two items that the score had not seen')}"]
        if in_short:
            return [f"New items: {_expected(wrong)}", *_too_many_features(facts)]
        sentence = (
            f"New items: {_expected(wrong)} Basis: between two items that it had not seen, the"
            f" score predicted {percent(trial.held_out)} of decided comparisons correctly"
            f" ({wrong.number:,.10g} tested)."
        )
        if np.isfinite(best):
            sentence += (
                " Even the best score that these features allow would get about"
                f" {100 * (1 - best):.0f} of 100 wrong."
            )
        return [sentence, *_too_many_features(facts)]
    return _in_sample_sentences(facts, "on new items")


def known_items_sentences(facts: "ReportFacts", in_short: bool = False) -> list[str]:
    """Accuracy on pairs that the fit had not seen, of items that it knows."""
    wrong = facts.wrong
    if not np.isfinite(facts.trial.held_out):
        return [*_in_sample_sentences(facts, "on new comparisons"), NO_NEW_ITEMS]
    if not wrong.is_enough:
        of_pairs = _too_few(wrong, "of pairs that the score had not seen")
        return [f"New comparisons of these items: {of_pairs}", NO_NEW_ITEMS]
    if in_short:
        return [f"New comparisons of these items: {_expected(wrong)}", NO_NEW_ITEMS]
    return [
        f"New comparisons of these items: {_expected(wrong)} Basis: of pairs of known items that it"
        f" had not seen, the score predicted {percent(facts.trial.held_out)} of decided comparisons"
        f" correctly ({wrong.number:,.10g} tested; log-loss {wrong.log_loss:.3f}, of a coin toss"
        f" {np.log(2):.3f}).",
        NO_NEW_ITEMS,
    ]


def _expected(wrong: "WrongShare") -> str:
    return (
        f"expect about {100 * wrong.share:.0f} of 100 predictions to be wrong (95 %:"
        f" {100 * wrong.low:.0f} to {100 * wrong.high:.0f}); a coin toss would get 50 wrong."
    )


def _too_few(wrong: "WrongShare", which: str) -> str:
    """Few tests, or many that depend on each other because they share items."""
    number, right = wrong.number, (1 - wrong.share) * wrong.number
    worth = ""
    if (effective := max(round(wrong.effective), 1)) < number:
        worth = f", and these, which share items, are worth about {effective}"
    return (
        f"too few tests to say how many predictions are wrong. The score was tested on"
        f" {number_of(number, 'decided comparison')} {which}, and predicted {right:,.4g} of"
        f" {'it' if number == 1 else 'them'} correctly; at least {ENOUGH_TESTS} independent tests"
        f" are needed{worth}."
    )


def _in_sample_sentences(facts: "ReportFacts", where: str) -> list[str]:
    if not np.isfinite(facts.trial.in_sample):
        return []
    return [
        "Of the decided comparisons that it was fitted to, the score predicted"
        f" {percent(facts.trial.in_sample)} correctly (optimistic; a coin toss, 50 %); how often it"
        f" is wrong {where} cannot be tested here."
    ]


def _too_many_features(facts: "ReportFacts") -> list[str]:
    """What to do where features are many beside items and new items do far worse."""
    n, d = facts.n_compared, len(facts.coefficients)
    lost = facts.trial.in_sample - facts.trial.held_out
    if n >= ITEMS_PER_FEATURE * d or lost < LOST_ACCURACY:
        return []
    remedy = "use fewer features or compare more items"
    if facts.effects.ridge is None:
        advice = "fit again with a ridge from the data (--l2 auto), or use fewer features"
        tried = f"{remedy}; a ridge from the data"
        remedy = advice_or_tried(facts.effects.rejected, "l2", advice, tried)
    return [
        "Of the comparisons that it was fitted to, the score predicted"
        f" {percent(facts.trial.in_sample)} correctly, far more: {number_of(d, 'feature')} are many"
        f" for {number_of(n, 'item')}; {remedy}."
    ]


def verdict_of_checks(checks: "list[Check]") -> str:
    """How many checks deserve a look, and which; how many could tell nothing."""
    doubts = [check.question for check in checks if not check.fine]
    blind = [check.question for check in checks if check.fine and check.is_blind]
    number = f"Of the {len(checks)} checks below, "
    if doubts:
        deserve = "deserves" if len(doubts) == 1 else "deserve"
        text = f"{number}{len(doubts)} {deserve} a look: {' '.join(doubts)}"
    else:
        text = f"{number}none found a problem."
    return f"{text} Could not be tested: {' '.join(blind)}" if blind else text
