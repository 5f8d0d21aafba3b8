"""The words that each setting may be, stated once.

This module imports nothing, so that ``pairscore --help`` can list the words without loading NumPy.
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
    or nothing beyond the model. None (``none`` on the command line) computes no standard errors.
RIDGES
    What a ridge is chosen for: comparisons with new items, or new comparisons of known items.
USES
    What a model is chosen for: the items at hand, or new ones.
SHRINKAGES
    Rules that choose how far the correlations of a closed form's covariance shrink towards zero.
MISSING_RULES, FILLING_RULES
    Missing feature values: refuse the table, leave such items and their comparisons out, fill in
    the mean and add a 0/1 flag, or give each such item a parameter instead of its features. The
    last two fill the gaps, and are those that a table in memory may have.
SELF_PAIRS
    Whether comparisons of an item with itself are an error or kept.
TEST_PAIRS
    Which comparisons test a fold: those with both items held out, or with at least one.
SCALES
    How scores are shown: less that of the average compared item, over the compared items from 0 to
    100, as Elo points, or as wins of 100 comparisons with compared items.
FILE_KINDS
    Tables on disk that can be written.
WINNER_MEANINGS
    What a code in the column of winners may mean; the rows of a code to skip are left out.
WINNER_WORDS, SIDE_WORDS
    Entries that may say who won, by what they mean; and those among them that can mean nothing
    else, which need no code.
ROLE_WORDS
    What columns of comparisons are called, as a whole or in a part of their name.
"""


class Kept(str):
    """What earlier files had; a file that contradicts it is read as it says itself."""


METHODS = ("split", "pooled", "paired", "mle")
LINKS = ("logit", "probit")
TIE_RULES = ("half", "drop", "davidson", "rao-kupper")
INFERENCES = ("items", "items+judges", "model")
RIDGES = ("auto", "auto-known")
USES = ("known", "new")
SHRINKAGES = ("ledoit-wolf", "oas")
FILLING_RULES = ("mean-with-flag", "item-effect")
MISSING_RULES = ("refuse", "drop-items", *FILLING_RULES)
SELF_PAIRS = ("error", "keep")
TEST_PAIRS = ("both", "touch")
SCALES = ("link", "0-100", "elo", "wins")
FILE_KINDS = ("csv", "parquet", "jsonl")
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
        *("winner", "result", "outcome", "choice", "chosen", "preferred", "verdict", "better"),
        *("sieger", "gewinner", "ergebnis", "urteil", "wahl", "entscheidung", "besser"),
        *("gagnant", "vainqueur", "résultat", "choix", "meilleur", "préféré"),
        *("勝者", "勝ち", "結果", "判定", "選択"),
    ),
    "loser": (
        *("loser", "losing", "loses", "lost", "defeated", "worse", "worst", "weaker", "inferior"),
        *("rejected", "verlierer", "verloren", "unterlegen", "schlechter", "schwächer"),
        *("perdant", "perdu", "pire", "moins bon", "perdedor", "peor", "perdente", "peggiore"),
        *("敗者", "負け", "劣"),
    ),
    "judge": (
        *("judge", "rater", "reviewer", "annotator", "assessor", "expert", "evaluator"),
        *("prüfer", "gutachter", "beurteiler", "bewerter", "richter", "ärztin", "arzt", "kollege"),
        *("juge", "évaluateur", "évaluatrice", "expert", "médecin", "審査員", "評価者", "判定者"),
    ),
}
