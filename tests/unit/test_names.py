"""Names outside the grammar are refused with a sentence that helps."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emq_sql.errors import BadName
from emq_sql.rules import names
from emq_sql.rules.keywords import UNUSABLE_UNQUOTED
from tests.unit.strategies import NASTY_TEXT

ALL = [names.queue_name, names.task_name, names.schema_name, names.role_prefix]


@pytest.mark.parametrize("name", ["mail", "0", "reports.daily", "a:b-c_d.e", "x" * 63])
def test_a_queue_name_in_the_grammar_is_returned_as_it_is(name: str) -> None:
    assert names.queue_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "Mail", ".mail", "-mail", "mail\n", "ma il", "mäil", "x" * 64, "mail\0", "m\u0660"]
)
def test_a_queue_name_outside_the_grammar_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        names.queue_name(name)


@given(st.text(max_size=70) | st.from_regex(r"[a-z0-9_.:-]{0,70}", fullmatch=True))
def test_queue_names_pass_exactly_when_the_databases_own_check_passes(name: str) -> None:
    # The check constraint is '^[a-z0-9][a-z0-9_.:-]{0,62}$', where $ means the very end.
    fits = re.match(r"[a-z0-9][a-z0-9_.:-]{0,62}\Z", name) is not None
    if fits:
        assert names.queue_name(name) == name
    else:
        with pytest.raises(BadName):
            names.queue_name(name)


@pytest.mark.parametrize("name", ["send", "mail.send", "Rechnung prüfen", "発送", "x" * 200])
def test_a_printable_task_name_is_returned_as_it_is(name: str) -> None:
    assert names.task_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ", " send", "send ", "se\nnd", "se\0nd", "se\x7fnd", "\ud800", "x" * 201, "a\u2028"],
)
def test_a_task_name_that_cannot_be_shown_on_one_line_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        names.task_name(name)


@pytest.mark.parametrize("name", ["emq", "_emq", "emq_2", "begin_queue", "name", "x" * 40])
def test_a_plain_schema_name_is_returned_as_it_is(name: str) -> None:
    assert names.schema_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "Emq", "2emq", "e-mq", 'e"mq', "emq;", "é", "x" * 41, "emq\n"]
)
def test_a_schema_name_that_would_need_quotes_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        names.schema_name(name)


@pytest.mark.parametrize("name", ["pg_emq", "pg_", "public", "information_schema", "plpgsql"])
def test_a_schema_that_is_not_the_ledgers_own_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        names.schema_name(name)


# One of each kind: reserved in every version, since 16, before a type's name, in PL/pgSQL.
@pytest.mark.parametrize("name", ["user", "system_user", "json_table", "values", "strict"])
def test_a_word_that_some_statement_takes_for_its_own_is_refused(name: str) -> None:
    with pytest.raises(BadName, match="reserved word"):
        names.schema_name(name)


@pytest.mark.parametrize("name", sorted(UNUSABLE_UNQUOTED))
def test_a_reserved_word_is_refused_as_a_schema_name(name: str) -> None:
    with pytest.raises(BadName, match="reserved word"):
        names.schema_name(name)


@pytest.mark.parametrize("name", ["emq", "_app", "user"])
def test_a_role_prefix_may_be_any_identifier(name: str) -> None:
    assert names.role_prefix(name) == name


@pytest.mark.parametrize("name", ["", "pg", "pg_emq", "Emq", "e-mq", "x" * 41])
def test_a_role_prefix_outside_the_grammar_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        names.role_prefix(name)


@pytest.mark.parametrize("check", ALL)
@pytest.mark.parametrize(
    "value", [None, 3, pytest.param(10**5000, id="huge"), 1.5, b"mail", ["mail"], object()]
)
def test_what_is_no_string_is_refused_by_its_type(check: object, value: object) -> None:
    with pytest.raises(BadName, match=type(value).__name__):
        check(value)  # type: ignore[operator]


@pytest.mark.parametrize("check", ALL)
@given(name=NASTY_TEXT)
def test_a_refusal_is_one_short_printable_line_that_names_the_value(
    check: object, name: str
) -> None:
    try:
        assert check(name) == name  # type: ignore[operator]
    except BadName as error:
        text = str(error)
        assert text.isprintable()
        assert len(text) < 900
        assert "is refused" in text
        assert names.shown(name) in text
        assert error.hint
        assert text.endswith("[EMQ101]")


@given(st.text() | st.integers() | st.floats() | st.binary() | st.none())
def test_a_shown_value_is_short_and_printable(value: object) -> None:
    assert names.shown(value).isprintable()
    assert len(names.shown(value, 30)) <= 30 * 10 + 2


def test_a_number_too_long_to_print_is_shown_by_its_size() -> None:
    assert names.shown(10**5000) == "over 10**60"
    assert names.shown(-(10**5000)) == "below -10**60"
