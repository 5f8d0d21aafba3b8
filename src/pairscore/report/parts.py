"""The parts of a report's page: facts in, HTML out, with every text escaped."""

from collections.abc import Iterator
from html import escape

import numpy as np

from pairscore.errors import first_few
from pairscore.report.charts import Mark, interval_chart, order_chart
from pairscore.report.facts import Coefficient, RankedItem, ReportFacts
from pairscore.report.pieces import card, paragraph, percent, shown, table
from pairscore.report.words import from_to, number_of, signed, wins

ENDS = 12  # items at each end of the caterpillar
MOST_COEFFICIENTS = 30
CLAMPED = 24  # letters of a name from which on the table may cut it
MOST_ROWS = 5000  # of the table: a browser's search stays quick
TOGETHER = (
    "Each interval holds for its own item 19 times of 20; among many items some will miss. Rank"
    " intervals count the items that differ from this one at the same level. For intervals that all"
    " hold together 19 times of 20, rank with --simultaneous (in Python, simultaneous=True)."
)
TOOLS = (
    '<div class="tools" id="tools" hidden><input id="search" type="search" placeholder="find an'
    ' item" aria-label="find an item"><span class="soft" id="found" aria-live="polite"></span><span'
    ' class="soft">A click on a heading sorts.</span></div>'
)


# -- the answer ------------------------------------------------------------------------------------


def answer(facts: ReportFacts) -> str:
    """The answer first, in words."""
    own, sentences = facts.own_trial, [_first(facts)]
    if facts.has_intervals:
        sentences.append(
            f"Of all pairs of items, {percent(facts.told_apart, 0)} are told apart surely (95 %"
            " each); the others are too close to call."
        )
    seen = f"on the comparisons it was fitted to, {percent(own.in_sample)}; a coin, 50 %"
    if np.isfinite(own.held_out):
        sentences.append(
            f"Between items that it had not seen, the score called {percent(own.held_out)} of the"
            f" decided comparisons rightly ({seen})."
        )
    elif np.isfinite(own.in_sample):
        called = (
            "Of the decided comparisons that it was fitted to, the score called"
            f" {percent(own.in_sample)} rightly (a coin, 50 %)"
        )
        sentences.append(
            f"{called}; how it does on items that it has not seen cannot be tested here."
        )
    sentences.append(facts.meaning)
    doubts = [check.question for check in facts.checks if not check.fine]
    look = (
        f"{len(doubts)} {'deserves' if len(doubts) == 1 else 'deserve'} a look: {' '.join(doubts)}"
    )
    calm = (
        "All checks below came out well."
        if not doubts
        else f"Of the {len(facts.checks)} checks below, {look}"
    )
    size = (
        f"{number_of(facts.n_comparisons, 'comparison')} of {number_of(facts.n_compared, 'item')},"
        f" {number_of(len(facts.coefficients), 'feature')}"
    )
    made = f"{size}, method {facts.method}"
    words = "".join(paragraph(sentence) for sentence in [*sentences, calm])
    return (
        f"<header><h1>Which is better, and how sure is that?</h1>{paragraph(made, 'soft')}<div"
        f' class="answer">{words}</div></header>'
    )


def _first(facts: ReportFacts) -> str:
    """Who comes first and how surely; nobody does if all scores are the same."""
    first, of = (
        [item for item in facts.items if item.rank == 1],
        number_of(len(facts.items), "item"),
    )
    best = first[0]
    if len(first) == len(facts.items):
        return f"All {of} have the same score, so none comes first."
    if len(first) > 1:
        return (
            f"{first_few([item.name for item in first], 3)} share the first place of {of} and would"
            f" win {wins(best.wins_of_100)} of 100 with the average one."
        )
    sentence = (
        f"{best.name} comes first of {of} and would win {wins(best.wins_of_100)} of 100 comparisons"
        " with the average one."
    )
    if not facts.has_intervals:
        return sentence
    surely = best.rank_low == best.rank_high
    return (
        f"{sentence} Its rank {'is' if surely else 'lies between'}"
        f" {best.rank_low:,}{'' if surely else f' and {best.rank_high:,}'} (95 % confidence)."
    )


# -- the ranking -----------------------------------------------------------------------------------


def ranking(facts: ReportFacts) -> str:
    """Both ends as a caterpillar, all items as a curve, and the table to search and sort."""
    items = facts.items
    ends: list[RankedItem | None] = (
        list(items) if len(items) <= 2 * ENDS else [*items[:ENDS], None, *items[-ENDS:]]
    )
    marks = [
        None if item is None else Mark(item.name, item.score, item.low, item.high, _item_tip(item))
        for item in ends
    ]
    caterpillar = interval_chart(
        marks,
        "Scores of the best and the worst items with their intervals",
        "score",
        facts.average_score,
    )
    bars = (
        "Bars are 95 % intervals"
        if facts.has_intervals
        else "The model was fitted without intervals"
    )
    about = escape(f"{bars}; the line is the average compared item ({shown(facts.average_score)}).")
    where = "All items" if len(items) <= 2 * ENDS else f"The {ENDS} best and the {ENDS} worst"
    caution = paragraph(TOGETHER, "soft") if facts.has_intervals else ""
    cards = card(where, caterpillar, about) + card(
        f"All {len(items):,} items in order", order_chart(items, facts.average_score), about
    )
    return (
        "<section><h2>The ranking</h2><div"
        f' class="cards">{cards}</div>{_ranking_table(facts)}{caution}</section>'
    )


def _item_tip(item: RankedItem) -> str:
    return (
        f"{item.name}: score {shown(item.score)} ({shown(item.low)} to {shown(item.high)}), rank"
        f" {item.rank} ({from_to(item.rank_low, item.rank_high)})"
    )


def _ranking_table(facts: ReportFacts) -> str:
    items = (
        facts.items
        if len(facts.items) <= MOST_ROWS
        else [*facts.items[: MOST_ROWS // 2], *facts.items[-MOST_ROWS // 2 :]]
    )
    left_out = len(facts.items) - len(items)
    cut = (
        paragraph(
            f"Left out here: {number_of(left_out, 'item')} in the middle; pairscore rank writes"
            " them all.",
            "soft",
        )
        if left_out
        else ""
    )
    ends = [
        value for item in items for value in (item.score, item.low, item.high) if np.isfinite(value)
    ]
    low, width = min(ends), (max(ends) - min(ends)) or 1.0
    kinds = [
        ("rank", ""),
        ("item", "text"),
        ("score", ""),
        ("95 % interval", "span"),
        ("", "maybe"),
        ("ranks", "span"),
        ("wins of 100", "maybe"),
    ]
    kinds += [("comparisons", "maybe"), ("net wins", "maybe"), ("residual", "maybe")]
    head = "".join(
        f'<th class="{kind}">'
        + (f'<button type="button">{name}</button>' if name else "")
        + "</th>"
        for name, kind in kinds
    )
    body = "\n".join(_ranking_row(item, low, width) for item in items)
    note = '<p class="only-print soft">The first 50 rows are printed.</p>'
    return (
        f'{TOOLS}{cut}<div class="box" tabindex="0"><table'
        f' id="ranking"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}'
    )


def _ranking_row(item: RankedItem, low: float, width: float) -> str:
    place = [100 * (value - low) / width for value in (item.score, item.low, item.high)]
    reach = (
        f'<i style="left:{place[1]:.1f}%;width:{place[2] - place[1]:.1f}%"></i>'
        if np.isfinite(place[1])
        else ""
    )
    title = f' title="{escape(item.name)}"' if len(item.name) > CLAMPED else ""
    mark = ' <span class="mark">outside</span>' if item.outside else ""
    cells = [
        f"<td>{item.rank}</td>",
        f'<td class="text"{title}><bdi>{escape(item.name)}</bdi>{mark}</td>',
        f'<td data-value="{item.score!r}">{item.score:.4g}</td>',
        (
            f'<td class="span">{f"{item.low:.4g} to {item.high:.4g}" if np.isfinite(item.low) else "unknown"}</td>'
        ),
        (
            f'<td class="maybe"><div class="bars">&#8203;{reach}<b'
            f' style="left:{place[0]:.1f}%"></b></div></td>'
        ),
        f'<td class="span">{from_to(item.rank_low, item.rank_high)}</td>',
        (
            '<td class="maybe"'
            f' data-value="{item.wins_of_100:.4g}">{wins(item.wins_of_100, "&gt;", "&lt;")}</td>'
        ),
        f'<td class="maybe">{item.comparisons:.6g}</td>',
        f'<td class="maybe">{f"{item.net_wins:+.4g}" if item.comparisons else ""}</td>',
        f'<td class="maybe">{signed(item.residual, 2) if np.isfinite(item.residual) else ""}</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"


# -- coefficients ----------------------------------------------------------------------------------


def coefficient_part(facts: ReportFacts) -> str:
    """The forest, per standard deviation so that features share an axis, and the numbers in the
    user's units.
    """
    strongest = sorted(facts.coefficients, key=lambda one: -abs(one.coef * one.sd))[
        :MOST_COEFFICIENTS
    ]
    marks = [
        Mark(
            one.feature,
            one.coef * one.sd,
            one.low * one.sd,
            one.high * one.sd,
            _coefficient_tip(one),
        )
        for one in strongest
    ]
    forest = interval_chart(
        marks, "Coefficients with their intervals", "per standard deviation of the feature", 0.0
    )
    some = (
        ""
        if len(strongest) == len(facts.coefficients)
        else f"The {MOST_COEFFICIENTS} largest of {len(facts.coefficients):,}. "
    )
    about = (
        f"{some}To the right of the line, more of the feature wins; an interval that crosses the"
        " line leaves open which way it goes."
    )
    rows = [
        [
            one.feature,
            shown(one.coef, ".3g"),
            f"{one.low:.3g} to {one.high:.3g}" if np.isfinite(one.low) else "unknown",
            shown(one.sd, ".3g"),
            wins(one.wins_of_100, ">", "<"),
        ]
        for one in facts.coefficients
    ]
    numbers = table(["feature", "coefficient", "95 % interval", "one s.d.", "wins of 100"], rows)
    meaning = (
        "A coefficient is what one unit more of the feature adds to the score, all else equal; the"
        " difference of two scores determines how likely one item beats the other. The last column"
        " is the share of comparisons won by one standard deviation more against a twin alike in"
        " all else: 50 means no influence."
    )
    beside = f'<div class="card"><h3>In the units of the features</h3>{numbers}</div>'
    cards = card("Influence of each feature", forest, escape(about)) + beside
    return (
        f"<section><h2>What counts</h2>{paragraph(meaning)}{paragraph(facts.meaning)}<div"
        f' class="cards">{cards}</div></section>'
    )


def _coefficient_tip(one: Coefficient) -> str:
    return (
        f"{one.feature}: {shown(one.coef)} ({shown(one.low)} to {shown(one.high)}) per unit; one"
        f" standard deviation more wins {wins(one.wins_of_100)} of 100"
    )


# -- what to think of it --------------------------------------------------------------------------


def checks_part(facts: ReportFacts) -> str:
    """Diagnostics in words, each with its rule."""
    parts = []
    for check in facts.checks:
        kind, verdict = (
            ("card check", "fine") if check.fine else ("card check look", "worth a look")
        )
        title = f'<h3>{escape(check.question)} <span class="verdict">{verdict}</span></h3>'
        parts.append(
            "<div"
            f' class="{kind}">{title}{paragraph(check.answer)}{paragraph(check.rule, "rule")}</div>'
        )
    return (
        f'<section id="checks"><h2>Checks</h2><div class="cards">{"".join(parts)}</div></section>'
    )


def more_comparisons(facts: ReportFacts) -> str:
    """What twice and four times the comparisons would buy."""
    title = "<h2>What would more comparisons buy?</h2>"
    if not facts.prospects:
        return f"<section>{title}{paragraph(f'The planner has no answer here: {facts.no_prospects}')}</section>"
    whole = not np.isfinite(facts.prospects[0].low)  # one feature: all pairs or none
    marks = []
    for one, name in zip(facts.prospects, ("now", "twice", "four times"), strict=True):
        span = f"{one.n_comparisons:,.10g}: {percent(one.misordered)}" + (
            "" if whole else f" ({percent(one.low)} to {percent(one.high)})"
        )
        marks.append(Mark(name, one.misordered, one.low, one.high, span))
    what = "chance of the wrong order" if whole else "share of new pairs in the wrong order"
    chart = interval_chart(marks, "Predicted share of misordered pairs", what, 0.0, percent=True)
    beside = card(
        "The wrong way round" if whole else "Pairs in the wrong order",
        chart,
        "" if whole else "Bars: nine of ten studies.",
    )
    words = "".join(paragraph(sentence) for sentence in _prospects(facts, whole))
    return f'<section>{title}<div class="cards"><div>{words}</div>{beside}</div></section>'


def _prospects(facts: ReportFacts, whole: bool) -> Iterator[str]:
    """The predicted shares, what they rest on, and the share that the fit's own intervals imply."""
    now, *later = facts.prospects
    buys = " and ".join(
        f"{percent(one.misordered)} with {one.n_comparisons:,.10g}" for one in later
    )
    here = (
        f"with the {number_of(now.n_comparisons, 'comparison')} here; it would be {buys} of the"
        " same items."
    )
    either = (
        "With one feature, all pairs of new items stand in the right order or all in the wrong one."
        " The chance of the wrong one is about"
    )
    share = percent(now.misordered)
    yield (
        f"{either} {share} {here}"
        if whole
        else f"Of pairs of new items, about {share} stand in the wrong order {here}"
    )
    yield (
        f"Predicted for {percent(facts.noise)} noise and the correlations of these features, as if"
        " features explained the items, pairs were random and features normal. Wrong means against"
        " the best score that these features allow."
    )
    if np.isfinite(facts.misordered):
        own = (
            f"The fit's own intervals, which need none of that, say {percent(facts.misordered)}"
            " now."
        )
        if facts.misordered > 1.3 * now.misordered:
            own += (
                " Trust this one more: the prediction takes the coefficients as they are, which"
                " chance makes too large, and the features for all there is. "
            )
            own += (
                "What they leave out goes away with more items or better features rather than with"
                " more comparisons of these."
            )
        yield own


def reading(facts: ReportFacts) -> str:
    """How to read it, and how not to."""
    do = (
        (
            "A higher score means that the item is expected to win more often; only differences of"
            " scores have a meaning."
        ),
        (
            "Look at the interval of a rank before its number: items whose intervals overlap widely"
            " may well stand the other way round."
        ),
        (
            "Held-out accuracy says how the score will do on new items; its ceiling is set by how"
            " much judges agree."
        ),
    )
    dont = (
        (
            "A coefficient is no cause: it says what goes along with winning among these items,"
            " with the other features held fixed."
        ),
        (
            "An interval is about this kind of items, judges and questions; it does not cover a"
            " change of any of them."
        ),
        (
            "A gap of 2 in score is not twice as good as a gap of"
            f" 1{'; it is the odds that multiply' if facts.link == 'logit' else ''}."
        ),
        (
            "Items marked outside lie beyond what was compared; their scores are extrapolated,"
            " whatever their intervals say."
        ),
    )
    lists = [
        "<div"
        f' class="card"><h3>{title}</h3><ul>{"".join(f"<li>{escape(one)}</li>" for one in texts)}</ul></div>'
        for title, texts in (("How to read it", do), ("How not to", dont))
    ]
    return (
        f'<section><h2>Reading it rightly</h2><div class="cards">{"".join(lists)}</div></section>'
    )


def origin(facts: ReportFacts) -> str:
    """Settings, commands, versions, fingerprint: what is needed to make it again."""
    record = facts.record
    rows = [
        *facts.summary,
        (
            "versions",
            ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items()),
        ),
    ]
    rows += [
        ("data fingerprint", str(record.get("fingerprint"))),
        ("seed of the sides", "none needed" if record.get("seed") is None else str(record["seed"])),
    ]
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows)
    commands = "".join(
        f"{paragraph(title, 'soft')}<pre>{escape(command or 'a Python session')}</pre>"
        for title, command in (
            ("The model was made by", record.get("command")),
            ("This report was made by", facts.command),
        )
    )
    return (
        "<section><h2>Where it comes from</h2><div"
        f' class="card">{commands}<dl>{entries}</dl></div></section>'
    )
