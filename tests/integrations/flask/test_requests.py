"""A request and its jobs are one transaction, in the database of the request's application."""

from __future__ import annotations

import pytest
from flask import Flask
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from emq_sql.errors import BadName, BadSetting, UnsupportedHandle
from emq_sql.integrations.flask import EMQ
from tests.integrations.flask.conftest import Shops, column, uri
from tests.integrations.flask.shop import db as sqlalchemy
from tests.integrations.flask.shop import emq, invoice
from tests.plugins.databases import Database

JOBS = "select (payload -> 'order')::int from emq.job order by 1"


def test_an_order_and_its_job_are_committed_together(shop: Flask, db: Database) -> None:
    answer = shop.test_client().post("/orders/7")
    assert answer.status_code == 200
    assert column(db, "select n from orders") == column(db, JOBS) == [7]
    assert column(db, "select id::text from emq.job") == [answer.json["job"]]


def test_a_request_that_fails_leaves_neither(shop: Flask, db: Database) -> None:
    assert shop.test_client().post("/orders/7?fails=1").status_code == 500
    assert column(db, "select n from orders") == column(db, JOBS) == []


def test_an_enqueue_without_a_session_is_committed_when_it_returns(
    shop: Flask, db: Database
) -> None:
    with shop.app_context():
        invoice.enqueue(order=1)
        invoice.enqueue_many([{"order": 2}, {"order": 3}])
        emq.enqueue_many([invoice.job(order=4)])
        assert column(db, JOBS) == [1, 2, 3, 4]
        assert emq.queues()[0]["queue"] == "mail"


def test_it_uses_the_pool_of_flask_sqlalchemy_and_ends_no_session_of_the_request(
    shop: Flask, db: Database
) -> None:
    with shop.app_context():
        sqlalchemy.session.execute(text("insert into orders values (1)"))
        assert shop.extensions["emq"].engine is sqlalchemy.engine
        sqlalchemy.session.commit()
    assert column(db, "select n from orders") == [1]


def test_an_enqueue_in_a_request_runs_no_teardown_of_the_application(
    shop: Flask, db: Database
) -> None:
    torn: list[object] = []
    shop.teardown_appcontext(torn.append)
    with shop.app_context():
        invoice.enqueue(order=1)
        assert torn == []
    assert torn == [None]


def test_two_applications_share_tasks_and_each_has_its_database(
    db: Database, other_db: Database, open_shop: Shops
) -> None:
    one, two = open_shop(db, SHOP="one"), open_shop(other_db, SHOP="two")
    one.test_client().post("/orders/1")
    two.test_client().post("/orders/2")
    with one.app_context():
        invoice.enqueue(order=3)
        with two.app_context():
            invoice.enqueue(order=4)
        invoice.enqueue(order=5)
    assert column(db, JOBS) == [1, 3, 5]
    assert column(other_db, JOBS) == [2, 4]


def test_sessions_that_are_not_flask_sqlalchemys_do_as_well(db: Database) -> None:
    app = Flask(__name__)
    app.config["EMQ_DSN"] = db.dsn
    mine = EMQ(app)

    @mine.task
    def note(order: int) -> None: ...

    engine = create_engine(uri(db))
    sessions = scoped_session(sessionmaker(engine))
    with app.app_context(), Session(engine) as session:
        note.using(session=session).enqueue(order=1)
        note.using(session=sessions).enqueue(order=2)
        assert column(db, JOBS) == []
        session.commit()
        sessions.commit()
        sessions.remove()
        note.enqueue(order=3)
    assert column(db, JOBS) == [1, 2, 3]
    engine.dispose()
    app.extensions["emq"].engine.dispose()


def test_outside_of_an_application_an_enqueue_is_refused_with_the_remedy(shop: Flask) -> None:
    with pytest.raises(BadSetting, match="app_context"):
        invoice.enqueue(order=1)
    with Flask("bare").app_context(), pytest.raises(BadSetting, match="init_app"):
        invoice.enqueue(order=1)


def test_an_application_has_one_ledger_of_one_emq(shop: Flask, db: Database) -> None:
    with pytest.raises(BadSetting, match="already"):
        emq.init_app(shop)
    other = EMQ()

    @other.task
    def elsewhere() -> None: ...

    with shop.app_context(), pytest.raises(BadSetting, match="another EMQ"):
        elsewhere.enqueue()
    assert column(db, JOBS) == []


@pytest.mark.parametrize(
    ("setting", "value", "error"),
    [("EMQ_SCHEMA", "no-name", BadName), ("EMQ_BELL", "no", BadSetting),
     ("EMQ_PAYLOAD_LIMIT", -1, BadSetting), ("EMQ_LISTEN_DSN", "nonsense", BadSetting)],
)  # fmt: skip
def test_settings_that_are_none_are_refused_by_init_app(
    setting: str, value: object, error: type[Exception]
) -> None:
    app = Flask(__name__)
    app.config[setting] = value
    with pytest.raises(error):
        EMQ().init_app(app)


def test_another_driver_in_the_uri_is_refused_with_the_scheme_to_write(db: Database) -> None:
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "postgresql+psycopg2://"
    EMQ().init_app(app)
    with pytest.raises((BadSetting, UnsupportedHandle), match="postgresql\\+psycopg"):
        app.extensions["emq"].queues()


def test_the_settings_of_the_config_hold(db: Database) -> None:
    app = Flask(__name__)
    app.config.update(EMQ_DSN="host=nowhere", SQLALCHEMY_DATABASE_URI=uri(db), EMQ_BELL=False,
                      EMQ_ENVIRONMENT="test", EMQ_PAYLOAD_LIMIT=9, EMQ_SCHEMA="jobs",
                      EMQ_LISTEN_DSN="host=there")  # fmt: skip
    EMQ(app)
    made = app.extensions["emq"]
    assert (made.bell, made.environment, made.payload_limit) == (False, "test", 9)
    assert (made.schema, made.dsn, made.listen_dsn) == ("jobs", "host=nowhere", "host=there")
