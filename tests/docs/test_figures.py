"""No figure in the page of figures was typed by anybody."""

from __future__ import annotations

from bench import tables


def test_the_page_of_figures_is_what_the_measurements_wrote() -> None:
    assert tables.PAGE.read_text() == tables.page(), "make bench-tables"
