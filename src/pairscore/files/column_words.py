"""Words that columns of comparisons are called by, and what they say of them."""

import re
from collections.abc import Iterable
from unicodedata import normalize

from pairscore.data.find_ids import has_word

# in a name as a whole or in a part of it; whether the worse item ranks high (the most severe case)
# or low is for the user to say
ROLE_WORDS = {
    "left": ("left", "links", "linke", "gauche", "左", "home"),
    "right": ("right", "rechts", "rechte", "droite", "右", "away"),
    "winner": (
        *("winner", "wins", "won", "result", "outcome", "choice", "chosen", "choose", "picked"),
        *("pick", "selected", "selection", "prefer", "preferred", "preference", "verdict"),
        *("better", "best", "favourite", "favorite", "answer", "response", "decision", "vote"),
        *("sieger", "gewinner", "gewonnen", "ergebnis", "urteil", "wahl", "auswahl"),
        *("entscheidung",),
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
# what turns a word of these round: as a word, or a sign, and before one
NEGATIONS = (
    *("not", "non", "nicht", "kein", "keine", "never", "nie", "didn", "doesn", "isn"),
    *("less", "least", "weniger", "wenigsten", "moins", "pas", "jamais", "menos", "meno"),
    *("不", "未", "ない", "なかった"),
)
PREFIXES = ("un", "non", "dis", "nicht")
# that tell two sides apart, next to numbers and single letters
ORDINALS = (
    *("left", "right", "first", "second", "one", "two", "top", "bottom", "home", "away"),
    *("links", "rechts", "linke", "rechte", "linker", "rechter", "linkes", "rechtes"),
    *("erste", "zweite", "erster", "zweiter", "erstes", "zweites", "eins", "zwei"),
    *("gauche", "droite", "premier", "première", "deuxième", "seconde", "左", "右", "甲", "乙"),
)
# of columns that have a number for each side
AMOUNTS = (
    *("score", "scores", "rank", "rating", "points", "value", "place", "position", "goals"),
    *("punkte", "punktzahl", "rang", "platz", "wert", "note", "bewertung", "tore"),
    *("valeur", "点", "順位", "評価"),
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
