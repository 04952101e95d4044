"""`python -m emq_sql` is the `emq` command."""

from __future__ import annotations

from emq_sql.cli.main import main

if __name__ == "__main__":
    main(prog_name="emq")
