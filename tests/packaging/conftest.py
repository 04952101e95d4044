"""The wheel, and the two ways to install it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.installing import ROOT, Installed, build, install


@pytest.fixture(scope="session")
def outside() -> Iterator[Path]:
    """A folder that is not in the checkout."""
    made = Path(tempfile.mkdtemp(prefix="emq-packaging-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="session")
def wheel(outside: Path) -> Path:
    """The wheel of this checkout."""
    return build(outside / "dist")


@pytest.fixture(scope="session")
def from_wheel(outside: Path, wheel: Path) -> Installed:
    """An environment that has the wheel."""
    return install(outside / "from_wheel", wheel)


@pytest.fixture(scope="session")
def editable(outside: Path) -> Installed:
    """An environment that has the checkout, editable."""
    return install(outside / "editable", "--editable", ROOT)


@pytest.fixture(scope="session", params=["from_wheel", "editable"])
def installed(request: pytest.FixtureRequest) -> Installed:
    """Both, one after the other."""
    found: Installed = request.getfixturevalue(request.param)
    return found
