"""Write docs/reproduction.md and its pictures: python examples/reproduction_docs.py FOLDER

FOLDER is what a finished `pairscore reproduce -o FOLDER` has left.
"""

import csv
import shutil
import sys
from collections import Counter
from math import isnan
from pathlib import Path
from textwrap import fill

from pairscore.paper.page import CAPTIONS

DOCS = Path(__file__).parent.parent / "docs"
INTRODUCTION = """# The paper, reproduced

`pairscore reproduce` rebuilds every experiment of the paper (Kadıoğlu, Tian, Dy, Erdoğmuş and
Ioannidis, *On the Sample Complexity of Rank Regression from Pairwise Comparisons*) on synthetic
data. It checks each sentence of the experiments section against the numbers, and adds four
figures that are not in the paper (7 to 10).

This page is written from a run with {generations} random generations of every setting. A
generation is a new draw of coefficients, means, covariance, items and comparisons.

## Run it yourself

```console
$ make paper                             # set-up and all figures, from the source
$ pairscore reproduce 1 -o illustration  # figure 1 alone
```

| command | what it does |
|---|---|
| `pairscore reproduce` | all figures, shown in `reproduction/index.html` |
| `pairscore reproduce 2a 3 --seeds 2` | two of them, quickly |
| `pairscore reproduce --direct` | items, comparisons and a fit for every cell |
| `python examples/reproduction_docs.py FOLDER` | this page, from a finished run in FOLDER |

Without `--direct`, estimates of `split` are drawn from their
[exact law](explanation/population.md#a-split-estimate-without-any-items), which is much faster
and gives the same means and spreads.

**It can be stopped at any time**, even by a power cut. The same command then continues where it
was. Ctrl-C ends it within two seconds: cells that are not finished are dropped. One cell alone
gives the same row as the whole run, because its seed comes from its settings.

**What it leaves.** Finished cells are in the database `cells.sqlite`. When a run ends or is
stopped by Ctrl-C, the tables are written from it: `rows.csv` has one row per cell and generation,
`needed.csv` the solved points of figures 5, 6 and 8. Figures are drawn from these rows alone.
Dotted curves are [predictions](explanation/theory.md#predicted-errors) made without any of the
simulated data.

## The claims

{counts}.

{doubtful}

### How to read the verdicts

Each verdict follows from a rule, which is named by a letter: [the rules](#the-rules) are at the end
of this section. The rules were written after looking at the figures of these generations, so they
are not a blind test. Fifteen claims are judged, each by itself: nothing corrects for their number.

A verdict also says in how many of 100 repeats of the whole run it is expected to come out again.
For that, every measurement is redrawn within the error of this run and of the repeat (√2 standard
errors, t-distributed). Below 80 of 100 the verdict is uncertain.

### Ten fresh generations

Ten generations that had not been looked at (100 to 109) gave eleven verdicts that were the same
and four that were not:

- The angle 0.3 was reached everywhere (0.277 ± 0.010 at most).
- Noise raised the N of figure 5.
- Noise raised the N of figure 6.
- The error of figure 3 did not rise from no noise to 20 % (log ratio −0.090 ± 0.026), while it
  did from 20 % to 40 % (0.313 ± 0.030).

From 0 to 20 % noise the predicted rise of the angle is one to two percent, because most of the
error of `split` is that of its covariance. Ten generations cannot show so small a rise.

The last value, −0.090, is four of its standard errors below the prediction. By chance that happens
about 3 times in 1000 (t-distribution, 9 degrees of freedom). 60 more generations (200 to 259, the
cells of figure 3 by `run_cell` of `pairscore.paper.experiments`) gave 0.009 ± 0.011, which agrees
with the prediction.

### Claim by claim
"""
UNCERTAIN = 0.8  # below this share of repeats a verdict is called uncertain


def paragraph(text, first="", rest=""):
    return fill(
        text,
        98,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def claim_entry(number, claim, letter):
    sure = float(claim["repeats"])
    repeats = "" if isnan(sure) else f", in {min(100 * sure, 99):.0f} of 100 repeats"
    doubt = " (uncertain)" if sure < UNCERTAIN else ""
    first, rest = f"{number}. ", " " * len(f"{number}. ")
    verdict = f"**{claim['verdict'].capitalize()}**{repeats}{doubt}. Rule {letter}."
    measured = f"Measured: {claim['measured'].rstrip('.')}. {claim['why']}".rstrip()
    parts = [
        paragraph(f"*{claim['sentence']}* ({claim['where']})", first, rest),
        paragraph(verdict, rest, rest),
        paragraph(measured, rest, rest),
    ]
    return "\n\n".join(parts)


def claim_list(claims):
    rules = list(dict.fromkeys(claim["rule"] for claim in claims))
    letters = dict(zip(rules, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False))
    entries = [
        claim_entry(number, claim, letters[claim["rule"]])
        for number, claim in enumerate(claims, start=1)
    ]
    named = [paragraph(f"**{letters[rule]}.** {rule}", "- ", "  ") for rule in rules]
    return "\n\n".join([*entries, "### The rules", "\n".join(named)])


def claims_text(claims, generations):
    verdicts = Counter(claim["verdict"] for claim in claims)
    counts = (
        f"Of {len(claims)} claims {verdicts['holds']} hold, {verdicts['holds approximately']} hold"
        f" approximately and {verdicts['does not hold']} do not"
    )
    doubtful = [
        paragraph(f"**{claim['verdict']}** ({claim['where']}): {claim['sentence']}", "- ", "  ")
        for verdict in ("does not hold", "holds approximately")
        for claim in claims
        if claim["verdict"] == verdict
    ]
    text = INTRODUCTION.format(generations=generations, counts=counts, doubtful="\n".join(doubtful))
    return "\n\n".join([text.rstrip("\n"), claim_list(claims)])


def figures_text(names):
    lines = ["## The figures"]
    for name in names:
        title, caption = CAPTIONS[name]
        lines += [
            f"### Figure {name}: {title}",
            f"![Figure {name}: {title}](figures/figure{name}.svg)",
            paragraph(caption),
        ]
    return "\n\n".join(lines)


def main(folder):
    folder = Path(folder)
    with open(folder / "claims.csv", newline="", encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    with open(folder / "rows.csv", newline="") as file:
        generations = len({row["generation"] for row in csv.DictReader(file)})
    (DOCS / "figures").mkdir(exist_ok=True)
    pictures = {name: folder / "figures" / f"figure{name}.svg" for name in CAPTIONS}
    drawn = [name for name, picture in pictures.items() if picture.exists()]
    for name in drawn:
        shutil.copy(pictures[name], DOCS / "figures" / pictures[name].name)
    text = f"{claims_text(claims, generations)}\n\n{figures_text(drawn)}\n"
    (DOCS / "reproduction.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
