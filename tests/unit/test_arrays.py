"""Results on their way to the server: no result takes no room."""

from __future__ import annotations

import pytest

from emq_sql.protocol import arrays


@pytest.mark.parametrize("results", [["null"], ["null", None], [None], []])
def test_a_batch_without_results_sends_none(results: list[str | None]) -> None:
    assert arrays.of_results(results) is None


def test_a_job_without_a_result_among_others_has_none() -> None:
    assert arrays.of_results(["null", '"null"', "1", None]) == '{NULL,"\\"null\\"","1",NULL}'
