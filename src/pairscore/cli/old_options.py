"""Options of the version before this one, and what to do now; the next version forgets them."""

from pairscore.errors import PairscoreError

READ_AS_FIT = (
    "the model remembers it from the fit; where a new file differs, say so in a study file (.toml)"
    " that is given in place of the tables"
)
NO_SELF_PAIRS = "leave out rows that compare an item with itself"
FORMAT = ("--delimiter", "--encoding", "--decimal", "--na", "--sheet")
COLUMNS = ("--winner", "--loser", "--left", "--right", "--judge", "--weight", "--count")

OLD_OPTIONS: dict[str, dict[str, str]] = {
    "fit": {
        "--shrinkage": "use --l2 where comparisons are few",
        "--side-by-judge": "write --side-effect judges",
        "--self-pairs": NO_SELF_PAIRS,
        "--threads": "write --processes",
    },
    "rank": {option: READ_AS_FIT for option in FORMAT if option != "--decimal"},
    "report": {
        **dict.fromkeys((*FORMAT, *COLUMNS, "--winner-codes"), READ_AS_FIT),
        "--self-pairs": NO_SELF_PAIRS,
    },
    "predict": dict.fromkeys((*FORMAT, "--judge"), READ_AS_FIT),
    "update": {
        **dict.fromkeys((*FORMAT[:-1], *COLUMNS), READ_AS_FIT),
        "--self-pairs": NO_SELF_PAIRS,
    },
    "stats": {"--self-pairs": NO_SELF_PAIRS},
    "plan": {
        "--angle": "give the target as --misordered",
        "--norm-error": "give the target as --misordered",
        "--experts": "give the hours of all experts together: --hours",
    },
    "simulate": {"--self-pairs": "pairs are always of two items"},
}


def refuse_old_option(command: str, option: str) -> None:
    """Say what to do instead of an option that an earlier version had; nothing of another."""
    if remedy := OLD_OPTIONS.get(command, {}).get(option):
        raise PairscoreError(f"{option} is no longer an option of pairscore {command}; {remedy}.")
