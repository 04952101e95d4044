"""An export needs the memory of a page, however many rows there are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from emq_sql.upkeep.export.day import Sizes
from tests.export.days import CAMPAIGN, ROWS, close, filled
from tests.plugins.databases import Database
from tests.protocol.calls import Ledger

ROOT = Path(__file__).resolve().parents[2]
FEW, MANY = (ROWS // 5, ROWS) if CAMPAIGN else (2_000, 10_000)
BLOCKS = 3 if CAMPAIGN else 50  # of 32 bytes: the payloads of the many come to 16 MB
SIZES = asdict(Sizes()) if CAMPAIGN else {"part": 500, "page": 250, "step": 5_000}
MOST = 1.1  # of the peak of the few


def test_the_peak_of_memory_does_not_grow_with_the_rows(
    db: Database, ledger: Ledger, folder: Path
) -> None:
    days = [filled(ledger, 10, FEW, BLOCKS), filled(ledger, 9, MANY, BLOCKS)]
    close(ledger, *days)
    given = {
        "dsn": db.dsn, "folder": str(folder), "days": [str(day) for day in days], "sizes": SIZES,
        "drop": False,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.export.runner", json.dumps(given)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},  # keeps the least for itself
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (few, _, peak_of_few), (many, rate, peak_of_many) = (
        map(int, line.split()) for line in done.stdout.splitlines()
    )
    assert (few, many) == (FEW, MANY)
    assert peak_of_many < MOST * peak_of_few, (peak_of_few, peak_of_many)
    if CAMPAIGN:
        print(f"{many:,} rows exported, {rate:,} rows/s, peak {peak_of_many / 1024:.0f} MB")
