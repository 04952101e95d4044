"""A Flask application with a factory, Flask-SQLAlchemy, and tasks in its module."""

from __future__ import annotations

import os
from typing import Any

from flask import Flask, abort, current_app, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import text

from emq_sql.integrations.flask import EMQ

emq = EMQ()
db = SQLAlchemy()


@emq.task(queue="mail")
def invoice(order: int) -> str:
    """Writes where it ran, in the session of its run, which nobody else closes."""
    db.session.execute(
        text("insert into invoice values (:n, :app, :pid)"),
        {"n": order, "app": current_app.config["SHOP"], "pid": os.getpid()},
    )
    db.session.commit()
    db.session.execute(text("insert into invoice values (-1, 'left open', 0)"))
    return str(current_app.config["SHOP"])


@emq.task(queue="mail")
async def thank(order: int) -> str:
    """A coroutine in the context of its application."""
    return f"{current_app.config['SHOP']} {order}"


def create_app(**config: Any) -> Flask:
    app = Flask(__name__)
    app.config.from_mapping(
        SQLALCHEMY_DATABASE_URI=os.environ.get("SHOP_DSN"),
        SHOP=os.environ.get("SHOP_NAME", "shop"),
    )
    app.config.from_mapping(config)
    db.init_app(app)
    emq.init_app(app)

    @app.post("/orders/<int:n>")
    def order(n: int) -> dict[str, str]:
        db.session.execute(text("insert into orders values (:n)"), {"n": n})
        job = invoice.using(session=db.session).enqueue(order=n)
        if request.args.get("fails"):
            abort(500)
        db.session.commit()
        return {"job": str(job.id)}

    return app
