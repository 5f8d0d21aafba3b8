"""The words that each setting may be, stated once.

It imports no other module of pairscore, so that ``pairscore --help`` lists words without NumPy.
What checks a setting (``estimators.settings``, ``data``, the command line) takes them from here.

METHODS
    Estimators, from the paper's to the most accurate: ``split`` (the paper's, eqs. 3-4) takes the
    covariance from other items, ``pooled`` from the compared items, ``paired`` from the
    differences of the compared pairs; ``mle`` maximises the likelihood.
LINKS
    How a difference of scores becomes a probability of winning.
TIE_RULES
    A tie is half a win for each side, is left out, or has a parameter (Davidson 1970; Rao and
    Kupper 1967).
INFERENCES
    What standard errors allow for: comparisons that share an item, also those that share a judge,
    or nothing beyond the model; ``auto`` is the second where ten judges or more are named, else the
    first. NO_INFERENCE, in Python also None, computes no standard errors.
RIDGES
    What a ridge is chosen for: comparisons with new items, or new comparisons of known items.
USES
    What a model is chosen for: the items at hand, or new ones.
SHRINKAGES
    Rules that choose how far the correlations of a closed form's covariance shrink towards zero.
MISSING_RULES, FILLING_RULES
    Missing feature values: refuse the table, leave such items and their comparisons out, fill in
    the mean and add a 0/1 flag, or give each such item a parameter instead of its features. The
    last two fill the gaps.
SELF_PAIRS
    Whether comparisons of an item with itself are an error or kept.
REPEATED
    Whether an update with comparisons that the model has already is refused or added.
UNKNOWN_RULES
    New items that a model cannot score (a level that it does not know, a missing value): rank the
    others and list these, or stop.
TEST_PAIRS
    Which comparisons test a fold: those with both items held out, or with at least one.
SCALES
    How scores are shown: less that of the average compared item, over the compared items from 0 to
    100, as Elo points, or as wins of 100 comparisons with compared items.
FILE_KINDS
    Tables on disk that can be written.
LAYOUTS, NO_SIDES
    Pairs of columns of comparisons that name the two items: sides, or the winner and the loser.
WINNER_MEANINGS
    What a code in the column of winners may mean; the rows of a code to skip are left out.
WINNER_WORDS, SIDE_WORDS
    Entries that may say who won, by what they mean; and those among them that can mean nothing
    else, which need no code.
ROLE_WORDS
    What columns of comparisons are called, as a whole or in a part of their name. Whether the worse
    item ranks high (the most severe case) or low is for the user to say.
NEGATIONS, PREFIXES
    What turns a word of these round, as a word of its own (or a sign), and before one.
ORDINALS
    Words that tell two sides apart, next to numbers and single letters.
AMOUNTS
    What columns are called that have a number for each side.
ID_WORDS
    What columns of ids are called.
"""

import re
from collections.abc import Iterable
from unicodedata import normalize


class Kept(str):
    """What earlier files had; a file that contradicts it is read as it says itself."""


class Unsaid(str):
    """A word for missing values that is told elsewhere, and not where such cells are counted."""


METHODS = ("split", "pooled", "paired", "mle")
LINKS = ("logit", "probit")
TIE_RULES = ("half", "drop", "davidson", "rao-kupper")
INFERENCES = ("auto", "items", "items+judges", "model")
NO_INFERENCE = "none"
RIDGES = ("auto", "auto-known")
USES = ("known", "new")
SHRINKAGES = ("ledoit-wolf", "oas")
FILLING_RULES = ("mean-with-flag", "item-effect")
DB_VARIABLE = "PAIRSCORE_DB"  # of the environment: the address of a database
MISSING_RULES = ("refuse", "drop-items", *FILLING_RULES)
SELF_PAIRS = ("error", "keep")
REPEATED = ("refuse", "add")
UNKNOWN_RULES = ("skip", "stop")
TEST_PAIRS = ("both", "touch")
SCALES = ("link", "0-100", "elo", "wins")
FILE_KINDS = ("csv", "parquet", "jsonl")
LAYOUTS = (("left", "right"), ("model_a", "model_b"))
NO_SIDES = ("winner", "loser")
WINNER_MEANINGS = ("left", "right", "tie", "skip")
SIDE_WORDS = {
    "left": ("left", "links", "gauche", "左"),
    "right": ("right", "rechts", "droite", "右"),
    "tie": ("tie", "draw", "unentschieden", "gleichstand", "égalité", "引き分け", "引分", "同点"),
}
WINNER_WORDS = {
    "left": (*SIDE_WORDS["left"], "l", "g", "a", "1", "first", "erste", "erstes", "premier"),
    "right": (*SIDE_WORDS["right"], "r", "d", "b", "2", "-1", "second", "zweite", "zweites"),
    "tie": (
        *SIDE_WORDS["tie"],
        *("0", "=", "gleich", "gleich gut", "beide", "egal", "same", "equal", "both", "neither"),
        *("égal", "égaux", "nul", "pareil", "同じ", "同等", "どちらも", "同程度"),
    ),
}
ROLE_WORDS = {
    "left": ("left", "links", "linke", "gauche", "左", "home"),
    "right": ("right", "rechts", "rechte", "droite", "右", "away"),
    "winner": (
        *("winner", "wins", "won", "result", "outcome", "choice", "chosen", "choose", "picked"),
        *("pick", "selected", "selection", "prefer", "preferred", "preference", "verdict"),
        *("better", "best", "favourite", "favorite", "answer", "response", "decision", "vote"),
        *(
            "sieger",
            "gewinner",
            "gewonnen",
            "ergebnis",
            "urteil",
            "wahl",
            "auswahl",
            "entscheidung",
        ),
        *("gewählt", "ausgewählt", "bevorzugt", "besser", "antwort", "favorit", "stimme"),
        *("gagnant", "vainqueur", "gagné", "résultat", "choix", "choisi", "meilleur", "préféré"),
        *("préférée", "préférence", "retenu", "réponse", "décision", "verdict", "favori"),
        *("勝者", "勝ち", "結果", "判定", "選択", "回答", "良い方", "好き", "採用", "優勝"),
    ),
    "loser": (
        *("loser", "losing", "loses", "lost", "defeated", "rejected", "eliminated", "discarded"),
        *("verlierer", "verloren", "unterlegen", "abgelehnt", "ausgeschieden", "verworfen"),
        *("perdant", "perdu", "rejeté", "éliminé", "écarté", "refusé", "perdedor", "perdente"),
        *("敗者", "負け", "不採用", "落選", "却下"),
    ),
    "worse": (
        *("worse", "worst", "weaker", "weakest", "inferior", "poorer", "schlechter"),
        *("schlechteste", "schwächer", "pire", "moins bon", "plus mauvais"),
        *("peor", "peggiore", "劣", "悪い", "悪化"),
    ),
    "judge": (
        *("judge", "rater", "reviewer", "annotator", "assessor", "expert", "evaluator"),
        *("prüfer", "gutachter", "beurteiler", "bewerter", "richter", "ärztin", "arzt", "kollege"),
        *("juge", "évaluateur", "évaluatrice", "expert", "médecin", "審査員", "評価者", "判定者"),
    ),
}
NEGATIONS = (
    *("not", "non", "nicht", "kein", "keine", "never", "nie", "didn", "doesn", "isn"),
    *("less", "least", "weniger", "wenigsten", "moins", "pas", "jamais", "menos", "meno"),
    *("不", "未", "ない", "なかった"),
)
PREFIXES = ("un", "non", "dis", "nicht")
ORDINALS = (
    *("left", "right", "first", "second", "one", "two", "top", "bottom", "home", "away"),
    *("links", "rechts", "linke", "rechte", "linker", "rechter", "linkes", "rechtes"),
    *("erste", "zweite", "erster", "zweiter", "erstes", "zweites", "eins", "zwei"),
    *("gauche", "droite", "premier", "première", "deuxième", "seconde", "左", "右", "甲", "乙"),
)
AMOUNTS = (
    *("score", "scores", "rank", "rating", "points", "value", "place", "position", "goals"),
    *("punkte", "punktzahl", "rang", "platz", "wert", "note", "bewertung", "tore"),
    *("valeur", "点", "順位", "評価"),
)
ID_WORDS = (
    *("id", "ids", "no", "nr", "num", "number", "code", "key", "name", "label", "item"),
    *("nummer", "kennung", "kürzel", "bezeichnung", "numéro", "nom", "n°", "n", "番号", "名"),
)


def has_word(name: str, words: Iterable[str]) -> bool:
    """Whether one of the words is in the name of a column, as a word or a long enough part."""
    folded = name.casefold()
    parts = re.split(r"[\W_0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    return any(
        word in parts or ((len(word) > 5 or not word.isascii()) and word in folded)
        for word in words
    )


def role_of(name: str, roles: Iterable[str]) -> str | None:
    """The role that the name of a column tells, if it has one of its words."""
    return next((role for role in roles if has_word(name, ROLE_WORDS[role])), None)


def told_by(name: str) -> str | None:
    """Whether a column's name says that it has the winner, the loser, or the worse item.

    A negated winner (not preferred, less good) is said like a worse item; one word for each of the
    two, or a negated loser, say nothing.
    """
    rest = re.sub("|".join(ROLE_WORDS["loser"]), " ", name, flags=re.IGNORECASE)
    turned = [prefix + word for prefix in PREFIXES for word in ROLE_WORDS["winner"]]
    is_negated = has_word(rest, NEGATIONS) or has_word(rest, turned)
    if has_word(name, ROLE_WORDS["loser"]):
        return None if is_negated or has_word(rest, ROLE_WORDS["winner"]) else "loser"
    if has_word(name, ROLE_WORDS["worse"]):
        return "worse"
    is_winner = has_word(rest, [*ROLE_WORDS["winner"], *turned])
    return ("worse" if is_negated else "winner") if is_winner else None


def are_twins(one: str, other: str) -> bool:
    """Whether two names differ only in what tells sides apart: 1 and 2, A and B, left and right."""

    def stem(name: str) -> str:
        signs = "|".join(word for word in ORDINALS if not word.isascii())
        text = re.sub(
            r"(?<![a-z])[a-z](?![a-z])|[\W_0-9]+", " ", normalize("NFKC", name).casefold()
        )
        text = re.sub(rf"\b({'|'.join(ORDINALS)})\b|{signs}", " ", text)
        return " ".join(text.split())

    return one != other and stem(one) == stem(other)
