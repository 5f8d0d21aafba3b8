"""The pages of all messy studies, looked at on a wide screen and a telephone, in light and dark."""

import pytest
from tests.cli.running import run
from tests.fixtures.test_studies import CASES, paths
from tests.report.browser import VIEWS, faults_of, needs_browser, open_browser


@needs_browser
@pytest.mark.parametrize("study", CASES)
def test_a_reader_stumbles_over_nothing_on_the_page_of_a_messy_study(
    study, figures, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run(f"fit {paths(study)} --auto {CASES[study][1]} --report page.html")
    with open_browser() as browser:
        found = faults_of(browser, tmp_path / "page.html")
    figures(f"page of {study}: faults in {len(VIEWS)} views", 0, len(found))
    assert found == []
