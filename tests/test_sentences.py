"""Every sentence that a user can read, in one file, and the rules that each of them keeps.

``python -m tests.golden.sentences`` writes the file again; what changes in it is read in review.
"""

import re

import click
import pytest

from pairscore.cli import main
from pairscore.cli.words import translate
from pairscore.report.words import option_words
from tests.golden.sentences import GOLDEN, ROOT, as_text, collect, of_source, raised

SENTENCES = [(name, text) for name, texts in collect().items() for text in texts]

# What no sentence may have, and what to write instead.
RULES = {
    r"\b(?:right|sure)ly\b": "correctly; we can say",
    r"\b(?:told|tell|tells|telling) (?:\w+ )?apart\b": "distinguish, separate",
    r"\bto the letter\b|\bas it stands\b": "exactly; unchanged",
    r"\bof (?:its|their|your|his|her) own\b": "separate",
    r"\bbeside\b": "next to, with",
    r"\bby hand\b": "manually",
    r"(?<!there )(?<!There )\b(?:is|are) no (?!longer|sign)\w": "is not a",
    r"\b(?:be|is|are|were) coins\b": "coin tosses",
    r"\btimes of \d": "times out of",
    r"\bflatters?\b|\bcalled? \w+ right\b": "in sample (optimistic); predicts correctly",
    r"\b(?:sister|twin|rung|ladder|door|rival)s?\b": "variant, the same item, estimator",
    r"\bat worst\b": "at most",
    r"\b(?:shall|ought|hence|thus|whilst|thereof|upon|lest|nought|whence)\b": "words of today",
    r"\bso many\b(?! features| effects| scores)": "which number is meant",
    r"\bturn\w* (?:\w+ ){1,2}round\b": "reverse, swap",
    r"\bsettles?\b": "determine, converge",
    r"\b(?:go|goes|going) (?:against|the way of)\b": "contradict, agree with",
    r"\bhad (?:enough|little say)\b": "what it means literally",
    r"\b(?:e\.g|i\.e|etc|viz|cf)\.": "such as, that is",
    r"\b(?:please|sorry|oops|simply|obviously|of course)\b|!(?!\w)": "nothing in its place",
    r"\b(?:illegal|fatal|abort(?:ed)?|invalid)\b": "what is wrong",
    r"\b(?:utili[sz]e|leverage|in order to|due to the fact)\b": "use, to, because",
    r"\b(?:colors?|centers?|behavior|standardiz|optimiz|labeled|analyz)\w*": "British spelling",
    r"\b(?:doesn|don|isn|aren|can|won|wasn|couldn)'t\b": "does not, cannot",
    r"\b([^\W\d]+) \1\b": "the word once",
    r"\ba [aeio]\w|\ban (?!hour|[aeioux…'\d]|M\b|N\b|HTML|s\.d)\w": "a or an",
    r" [,;.?](?![\w.])": "no blank before a comma or a stop",
}
# What no sentence on the command line may have.
PYTHON = {
    r"(?<![\w'\"-])[a-z_]\w*=(?!=)": "a setting",
    r"\b\w+\(\w*\)|\b[a-z]\w*\([a-z]\w*[,=)]": "a call",
    r"(?<![\w'-])[a-z0-9]+_\w+": "a name",
    r"\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z][a-z]+\.[a-z]+\w": "a class",
    r"\b(?:True|False|None|dict|numpy|dataframes?|array)\b": "a word of Python",
    r"\bvotes?\b(?!\.csv)": "comparisons",
}
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]+|(?<![\w-])-o\b")
# Names that are not Python's: columns of tables, symbols of the paper, a program.
KNOWN_NAMES = re.compile(
    r"model_[ab]|(rank|place|tie)_(low|high)|p_e|lambda_d|λ_d|new_items\.|rest_days|gleich="
    r"|PostgreSQL"
)
# `compare` takes settings of models as words: 'ridge: l2=auto side_effect=yes'.
SETTINGS_OF_COMPARE = re.compile(
    r"\b(name|setting|features|l2|judge_slopes|side_effect|item_effects)=?"
)
PAGE = "report/"
# Results and pages, which a command prints without translating them; what they raise is translated.
AS_THEY_ARE = (
    *(PAGE, "paper/", "planning/text.py", "planning/charts.py", "planning/pairs.py"),
    *("model/summary.py", "model/predict.py", "evaluation/compare.py", "effects/judge_slopes.py"),
    "estimators/estimate.py",
)
CHECKED = re.compile(r"^\w+ is …; use ")  # raised by a check of a single number
RAISED = {text for path in ROOT.rglob("*.py") for text in raised(path.read_text(encoding="utf-8"))}
# What nobody gets to read who has only the command line: about arguments that it has not, and about
# results and objects of Python. By the beginning of a sentence.
ONLY_IN_PYTHON = (
    "module 'pairscore",
    "'…' object has no attribute",
    # arrays, dataframes and matrices of differences
    "joint_test needs",
    "sample_weight",
    "n_jobs is",
    "y has shape",
    "y has zeros",
    "y is missing",
    "fit requires y",
    "Only binary classification",
    "… outcome",
    "… has entries of type",
    "… comparison points outside",
    "… feature value masked",
    "… feature value is NaN",
    "the items are neither a dataframe",
    "the items are an array",
    "the votes are an array",
    "the votes are a …;",
    "… …, which already have items",
    "… neither a dataframe",
    "the column '…' has … dimensions",
    "differences of features are made",
    "item_groups is '…'",
    "item_groups has … for",
    "item_effects=True needs to know who",
    "the comparisons lack the context",
    "these pairs have no outcomes",
    "from_frames(",
    "from_pairs(",
    "a table to write is a dict",
    "the two vectors",
    "…= names a column,",
    "…='…' names a column of the votes",
    "…= is for a table",
    "…= is part of the fit",
    "difference takes two items",
    "abilities of … items need the inverse",
    "the influence of … items",
    ", name some with covariance_items",
    # arguments and objects without an option
    "fit with judge_slopes=False",
    "fit with item_effects=False",
    "fit with l2=0 and item_effects=False",
    "profile intervals are of",
    "there are no standardised residuals",
    "raise max_iter",
    "anova takes",
    "the last step of a pipeline",
    "a pipeline cannot be saved",
    "a pipeline transforms",
    "residuals are of",
    "… takes a fitted RankRegression",
    "plots take a fitted",
    "plots.plan takes",
    "ax is …",
    "OnItems got",
    "the function of OnItems",
    "... and … pair more",
    "… need the comparisons",
    "link is '…'",
    "the link function must rise",
    "the second function of the link",
    "covariance_items",
    "ItemKFold splits",
    "test is '…'",
    "… is not an array of numbers",
    "… number of … NaN",
    "Comparisons(…",
    "Population(…",
    "use is '…'",
    "models is '…'",
    "a model is called '…'",
    "the model '…' is a …",
    "cv is '…'",
    "only comparisons can be predicted",
    "the model has no comparisons",
    "the model was fitted to comparisons alone and knows no features",
    "the comparisons of the fit are not in the model",
    "the path of a model file is",
    "a population has its own",
    "there are no rows to draw",
    "rng is '…'",
    "population is '…'",
    "the population has … judges",
    "tradeoff is",
    "the bound stays",
    "comparisons is …; give a positive multiple",
    "max_eigenvalue is",
    "self_pairs is ",
    "bias of self-pairs",
)


def faults(text, rules):
    """What a text has that it may not, each with what to write instead."""
    found = {re.search(rule, text): remedy for rule, remedy in rules.items()}
    return [f"{part[0]!r}: {remedy}" for part, remedy in found.items() if part]


def names_of_python(text):
    return faults(KNOWN_NAMES.sub("name", text), PYTHON)


def is_on_the_command_line(name, text):
    return not text.startswith(ONLY_IN_PYTHON) and not (name.startswith(PAGE) and "Python" in text)


def printed(name, text):
    """A sentence as a command prints it, with something filled in."""
    if name.startswith(AS_THEY_ARE) and text not in RAISED and not CHECKED.search(text):
        return text
    if name.startswith("cli/") and name != "cli/words.py":
        return SETTINGS_OF_COMPARE.sub("", text) if "compare" in text or "l2=" in text else text
    with click.Context(main):
        return translate(text.replace("'…'", "'x'").replace("…", "7"))


def test_every_sentence_is_in_the_file():
    assert GOLDEN.read_text(encoding="utf-8") == as_text(collect())


def test_every_sentence_keeps_the_rules():
    assert {text: wrong for _, text in SENTENCES if (wrong := faults(text, RULES))} == {}


def test_commands_print_no_name_of_python():
    told = [printed(*one) for one in SENTENCES if is_on_the_command_line(*one)]
    assert {text: wrong for text in told if (wrong := names_of_python(text))} == {}


def test_python_users_are_told_of_no_option():
    """A report belongs to both: it is a page for people who use commands."""
    library = [text for name, text in SENTENCES if not name.startswith(("cli/", "report/"))]
    assert [text for text in library if OPTION.search(text)] == []


@pytest.mark.parametrize("beginning", ONLY_IN_PYTHON)
def test_no_exception_is_kept_that_is_not_needed(beginning):
    assert any(text.startswith(beginning) for _, text in SENTENCES)


# -- the tests themselves --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "planted",
    [
        "raise PairscoreError(f'{name!r} is no number of items; give one.')",
        "click.echo('the score called 3 of them rightly')",
        "help = 'Items that are told apart ' + 'by hand.'",
        'warn(f\'{n} judges vote like coins; they {"are coins" if n else "x"}.\')',
        "@command()\ndef f():\n    '''Give every item a effect.'''",
    ],
)
def test_a_bad_sentence_is_found_wherever_it_stands(planted):
    (text, *_) = of_source(planted)
    assert faults(text, RULES)


def test_docstrings_of_functions_are_not_shown_and_those_of_commands_are():
    source = "@command()\ndef f():\n    '''Help of a command.'''\n    g('and', 'x')\n"
    assert list(of_source(source)) == ["Help of a command."]
    assert list(of_source(source.replace("@command()\n", ""))) == []


def test_a_sentence_is_collected_whole_with_what_is_filled_in():
    source = "f(f'the {x!r} of {y:.2f} ' f'{\"is\" if z else \"are\"} here; ' + few(n) + ' left')"
    assert list(of_source(source)) == ["the '…' of … {is|are} here; … left"]
    assert list(of_source("whole_number(n, 'n_items')")) == [
        "n_items is …; use a whole number from 1."
    ]


@pytest.mark.parametrize(
    "text",
    [
        'fit with l2="auto" or',
        "use RankRegression instead",
        "call fit() first",
        "give item_effects=True",
        "votes= has none",
        "the votes have none",
    ],
)
def test_a_name_of_python_is_seen(text):
    assert names_of_python(text)


def test_an_option_in_python_is_seen():
    assert OPTION.search("leave it out with --exclude NAME")
    assert not OPTION.search("a - b, sub-group, -1 or 3--5")


def test_the_page_shows_options_for_settings():
    assert option_words("fit with l2='auto'.") == "fit with --l2 auto."
