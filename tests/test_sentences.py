"""The rules that every sentence keeps which a user can read, and those of pieces of messages.

Messages name settings, values and calls as data (:mod:`pairscore.messages`), which each front end
words. Whether a command has words for all of them is tested in ``tests/cli/test_words.py``.
"""

import ast
import re

import pytest

from tests.sentences import ROOT, collect, of_source

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
# What no text of the library may have: each front end has its own words for these.
PYTHON = {
    r"(?<![\w'\"-])[a-z_]\w*=(?!=)": "a setting",
    r"\b\w+\(\w*\)|\b[a-z]\w*\([a-z]\w*[,=)]": "a call",
    r"(?<![\w'-])[a-z0-9]+_\w+": "a name",
    r"\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z][a-z]+\.[a-z]+\w": "a class",
    r"\b(?:True|False|None|dict|numpy|dataframes?|array)\b": "a word of Python",
    r"\bvotes?\b(?!\.csv)": "comparisons",
}
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]+|(?<![\w-])-o\b")
# What no piece of a message may have, be it a sentence or not.
SPELLINGS = {
    r"(?<![\w'\"-])[a-z_]\w*=": "a setting, as Setting(name, value)",
    r"\b\w+\(\)": "a call, as Action(name)",
    r"\b(?:True|False|None)\b": "a value, as Value(value)",
    OPTION.pattern: "an option, as Setting(name)",
}
# Names that are not Python's: columns of tables, symbols of the paper, a program.
KNOWN_NAMES = re.compile(
    r"model_[ab]|(rank|place|tie)_(low|high)|p_e|lambda_d|λ_d|new_items\.|rest_days|gleich="
    r"|certain_beside"
    r"|PostgreSQL|NaN"
)
FRONT_ENDS = ("cli/", "report/words.py")  # which word what the library says


def faults(text, rules):
    """What a text has that it may not, each with what to write instead."""
    found = {re.search(rule, text): remedy for rule, remedy in rules.items()}
    return [f"{part[0]!r}: {remedy}" for part, remedy in found.items() if part]


def names_of_python(text):
    return faults(KNOWN_NAMES.sub("name", text), PYTHON)


def library_sources():
    """The modules of the library, by their name in it."""
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(FRONT_ENDS):
            yield name, path.read_text(encoding="utf-8")


def said_in_python(source):
    """The texts of a module that are about calls and objects of Python."""
    nodes = [*ast.walk(ast.parse(source))]
    of_python = [
        node
        for node in nodes
        if (
            isinstance(node, ast.Call) and ast.unparse(node.func) in ("CallError", "AttributeError")
        )
        or (isinstance(node, ast.FunctionDef) and node.name == "__repr__")
    ]
    return {text for node in of_python for text in of_source(ast.unparse(node))}


def messages(source):
    """What is raised, warned of or made a message in a module, as nodes of its tree."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name == "Message.of" or name.endswith(("Error", "Warning")):
                yield node


def literals(node):
    """The texts in an expression, those around what is filled in as they stand."""
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return [text for text in texts if isinstance(text, str)]


def test_every_sentence_keeps_the_rules():
    assert {text: wrong for _, text in SENTENCES if (wrong := faults(text, RULES))} == {}


def test_texts_of_the_library_have_no_name_of_python():
    """Settings, values and functions are parts of a message, and each front end words them.

    What only Python says (CallError) may name its objects.
    """
    found = {}
    for name, source in library_sources():
        texts = {*of_source(source)} - said_in_python(source)
        found |= {(name, text): wrong for text in texts if (wrong := names_of_python(text))}
    assert found == {}


@pytest.mark.parametrize(("name", "source"), library_sources())
def test_no_piece_of_a_message_names_a_setting_as_python_does(name, source):
    """Not even a piece that is no sentence, such as "; use l2=" before a value."""
    pieces = {piece for node in messages(source) for piece in literals(node)}
    wrong = {piece: faults(KNOWN_NAMES.sub("name", piece), SPELLINGS) for piece in pieces}
    assert {piece: said for piece, said in wrong.items() if said} == {}


def test_python_users_are_told_of_no_option():
    """A report belongs to both: it is a page for people who use commands."""
    library = [text for name, text in SENTENCES if not name.startswith(("cli/", "report/"))]
    assert [text for text in library if OPTION.search(text)] == []


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
