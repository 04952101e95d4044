"""What breaks in job queues in the field, how this one behaves, and the tests that hold it.

`python -m tests.cases.table > docs/explain/field-cases.md` writes the page. The numbers are those
of a longer list; those that are missing are about parts that do not exist yet.
"""

# ruff: noqa: E501  the lines of the page

from __future__ import annotations

from tests.cases import of_leases, of_service, of_work
from tests.cases.case import Case

CASES = (*of_leases.CASES, *of_work.CASES, *of_service.CASES)

HEAD = """# What breaks in the field

Troubles that people who run job queues have reported, in our words; how this queue behaves; and the tests that
hold it, which make the trouble with real processes and a real server. Numbers are those of a longer list; those
that are missing are about parts that do not exist yet. This page is written from `tests/cases/table.py`.
"""


def page() -> str:
    """The page, as Markdown."""
    return "\n".join([HEAD, *map(_section, CASES)])


def _section(case: Case) -> str:
    lines = [f"## {case.number}. {case.title}", "", case.trouble, "", f"**Here:** {case.behaviour}"]
    if case.left:
        lines += ["", f"**Not yet:** {case.left}"]
    lines += ["", *(f"- `{test}`" for test in case.tests), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
