"""health: ask a worker on this machine how it is, for probes that are commands."""

from __future__ import annotations

import http.client
from pathlib import Path

import click

from emq_sql.errors import BadSetting
from emq_sql.rules.printable import printable
from emq_sql.worker.health import file as health_file
from emq_sql.worker.health.report import Question, line

PATIENCE = 3.0  # seconds; a worker answers in milliseconds


@click.command()
@click.option("--file", type=click.Path(path_type=Path), help="--health-file of the worker.")
@click.option("--port", type=click.IntRange(1, 65535), help="--health-port of the worker.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Its --health-host.")
@click.option("--ready", is_flag=True, help="Ask whether it claims, not whether it is live.")
@click.pass_context
def health(ctx: click.Context, file: Path | None, port: int | None, host: str, ready: bool) -> None:
    """Ask a worker whether it is live: exit code 0 for yes, 1 for no, with the reasons.

    It is not when a control loop of it hangs, which a restart would cure. It is while the database
    is away, and while it drains; --ready asks whether jobs are claimed.
    """
    question: Question = "ready" if ready else "live"
    if (file is None) == (port is None):
        what = "A worker is asked through its file or through its port, and one of them is needed."
        raise BadSetting(what, hint="Give --file or --port.")
    if file is not None:
        yes, said = health_file.ask(file, question)
    else:
        assert port is not None
        yes, said = _asked(host, port, question)
    click.echo(printable(said))
    ctx.exit(0 if yes else 1)


def _asked(host: str, port: int, question: Question) -> tuple[bool, str]:
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        connection.request("GET", f"/{question}")
        response = connection.getresponse()
        return response.status == 200, response.read(10_000).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return False, line(question, [f"{host}:{port} does not answer: {error}"])
    finally:
        connection.close()
