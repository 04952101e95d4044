"""emq_sql in Flask applications.

    emq = EMQ()                       # in a module, with the tasks: @emq.task

    def create_app() -> Flask:
        app = Flask(__name__)
        app.config["EMQ_DSN"] = ...   # or SQLALCHEMY_DATABASE_URI, which is there already
        emq.init_app(app)
        return app

    send.using(session=db.session).enqueue(order_id=7)    # in a request

and `flask emq worker`, which runs each job in an application context of its own.
"""

from __future__ import annotations

from emq_sql.integrations.flask.extension import EMQ

__all__ = ["EMQ"]
