"""How a report says things: one item or many, options of the command in place of Python's, chances without false certainty."""

import re

OPTION = re.compile(r"\b(\w+)=(?:'(\w+)'|True|(\d+(?:\.\d+)?(?:e-?\d+)?))")
NAMED = re.compile(r", name some with covariance_items=")
BARE = re.compile(r"\b([Ss])et l2\b")
N_ITEMS = re.compile(r"\bn_items is (\d+)")


def option_words(text: str) -> str:
    """A sentence of the library with the options of the command for its arguments.

    >>> option_words("set a ridge such as l2=1.0, or use method='pooled' with side_effect=True.")
    'set a ridge such as --l2 1, or use --method pooled with --side-effect.'
    """

    def option(found: re.Match[str]) -> str:
        name, word, number = found.groups()
        value = word or (f"{float(number):g}" if number else "")
        return f"--{name.replace('_', '-')} {value}".rstrip()

    text = NAMED.sub("", text)
    text = N_ITEMS.sub(r"the number of compared items is \1", text)
    return BARE.sub(r"\1et --l2", OPTION.sub(option, text))
