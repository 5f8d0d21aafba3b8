"""Pages can be read: lines of a width, British spelling, and a tutorial in simple words."""

import pytest

from tests.docs.pages import PAGES, ROOT, text_of
from tests.docs.prose import american_spellings, long_lines, misspelt, prose_lines, word_list
from tests.docs.readability import grade, syllables
from tests.docs.test_links import ALL_PAGES
from tests.sentences import all_sentences

HIGHEST_GRADE = 9
SENTENCES = "sentences of the source"


# -- lines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_lines_have_at_most_120_characters(page):
    assert long_lines(text_of(page)) == []


LONG = "word " * 25


def test_a_long_line_is_found():
    assert long_lines(f"short\n{LONG}\n") == [2]
    assert long_lines(f"```python\nx = '{LONG}'\n```\n") == [2]
    assert long_lines(f"```console\n$ echo {LONG}\n```\n") == [2]
    assert long_lines(f"```console\n$ echo \\\n  {LONG}\n```\n") == [3]
    assert long_lines(f"```python\n>>> '{LONG}'\n```\n") == [2]
    assert long_lines(f"{LONG}[a](b.md)\n") == [1]


def test_tables_addresses_and_what_programs_print_may_be_longer():
    assert long_lines(f"| {LONG} |\n") == []
    assert long_lines(f"```console\n$ echo\n{LONG}\n```\n") == []
    assert long_lines(f"```python\n>>> 1\n{LONG}\n```\n") == []
    assert long_lines(f"```text\n{LONG}\n```\n") == []
    assert long_lines(f"See [the page](https://example.org/{'long/' * 25}).\n") == []


# -- spelling --------------------------------------------------------------------------------------


def _text(page):
    return all_sentences() if page == SENTENCES else (ROOT / page).read_text(encoding="utf-8")


def test_words_are_spelt_right(tmp_path):
    for page in [*ALL_PAGES, SENTENCES]:
        name = page.replace("/", "--")
        (tmp_path / name).write_text(prose_lines(_text(page)))
    assert misspelt(tmp_path) == []


@pytest.mark.parametrize("page", [*ALL_PAGES, SENTENCES])
def test_spelling_is_british(page):
    assert american_spellings(prose_lines(_text(page))) == []


def test_a_misspelt_word_is_found_in_prose_and_not_in_code(tmp_path):
    text = "One\n\ncomparisions are `standardized` and colorful, $center$.\n"
    (tmp_path / "page.md").write_text(prose_lines(text))
    (found,) = misspelt(tmp_path)
    assert found.startswith("./page.md:3: comparisions ==> ")
    assert american_spellings(prose_lines(text)) == ["line 3: colorful (colour…)"]
    for word in ("standardized", "judgment", "centered", "modeled", "Neighbors", "optimizer"):
        assert american_spellings(word), word
    for word in ("standardised", "judgement", "centred", "modelled", "model", "models", "labels"):
        assert american_spellings(word) == [], word


def test_the_word_list_has_no_word_twice():
    known, american = word_list()
    names = [*known, *(pattern.pattern for pattern, _ in american)]
    assert len(names) == len(set(names))


# -- how hard to read ------------------------------------------------------------------------------


def test_the_tutorial_is_in_simple_words():
    assert grade(text_of("docs/tutorial.md")) <= HIGHEST_GRADE


EASY = "The cat sat on the mat. It was warm. The dog came in, and the cat ran off."
HARD = (
    "Notwithstanding considerable methodological heterogeneity, investigators consistently"
    " identified statistically significant associations between socioeconomic deprivation and"
    " multimorbidity, particularly among institutionalised individuals."
)


def test_the_grade_puts_an_easy_and_a_hard_text_in_order():
    assert grade(EASY) < 3 < HIGHEST_GRADE < 20 < grade(HARD)
    # 0.39 * 6 + 11.8 * 7 / 6 - 15.59: six words with seven syllables
    assert grade("The cats often sit with me.") == pytest.approx(0.39 * 6 + 11.8 * 7 / 6 - 15.59)


def test_what_is_not_prose_does_not_count():
    page = f"# {HARD}\n\n| {HARD} | {HARD} |\n|---|---|\n\n```text\n{HARD}\n```\n\n{EASY}\n"
    assert grade(page) == grade(EASY)
    link = EASY.replace("mat", "[mat](https://example.org/institutionalised.individuals.html)")
    assert grade(link) == grade(EASY)
    with pytest.raises(ValueError, match="without a sentence"):
        grade("```text\na\n```\n")


@pytest.mark.parametrize(
    ("word", "number"),
    [("cat", 1), ("tables", 2), ("judged", 1), ("compared", 2), ("comparison", 4), ("the", 1)],
)
def test_syllables_are_counted(word, number):
    assert syllables(word) == number
