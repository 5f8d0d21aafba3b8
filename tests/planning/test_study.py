"""A plan as a notebook shows it."""

from pairscore import plan
from pairscore.planning.study import PER_ITEM, Plan


def test_a_notebook_shows_the_study_of_every_method():
    study = plan(n_features=5, noise=0.2, misordered=0.1)
    assert isinstance(study, Plan)
    page = study._repr_html_()
    assert f"Plan: {study.n_items:,} items, {study.n_comparisons:,} comparisons" in page
    for name, other in [*study.alternatives.items(), (f"{PER_ITEM} per item", study.rule_of_ten)]:
        cells = (name, f"{other.n_items:,}", f"{other.n_comparisons:,}", f"{other.hours:,.1f}")
        assert "".join(f"<td>{cell}</td>" for cell in cells) in page
    assert "misordered 0.1" in page


def test_a_notebook_shows_why_a_method_has_no_study():
    study = plan(n_features=20, noise=0.0, misordered=0.05, method="paired")
    refusals = [str(one) for one in study.alternatives.values() if isinstance(one, Exception)]
    assert refusals
    page = study._repr_html_()
    assert all(refusal.replace("'", "&#x27;") in page for refusal in refusals)
