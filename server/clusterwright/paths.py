"""Where things are: the shipped knowledge, and the user's configuration and data."""

import os
from importlib import resources
from pathlib import Path

import platformdirs

from clusterwright.errors import UserError

_APP = "clusterwright"


def shipped(name: str) -> Path:
    """A shipped folder (`knowledge`, `skills`, `corpus`): inside the installed package, else in the checkout."""
    packaged = Path(str(resources.files("clusterwright"))) / "_data" / name
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / name


def data_dir() -> Path:
    """The folder for indexes and jobs, made when missing: `CLUSTERWRIGHT_DATA` or the platform's standard place.

    Raises:
        UserError: it cannot be written.
    """
    folder = Path(
        os.environ.get("CLUSTERWRIGHT_DATA") or platformdirs.user_data_dir(_APP, appauthor=False)
    ).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the data folder {folder} ({error.strerror}); set CLUSTERWRIGHT_DATA to a writable folder"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"cannot write to the data folder {folder}; set CLUSTERWRIGHT_DATA to a writable folder")
    return folder


def config_file() -> Path:
    """The configuration file, which may be missing: `CLUSTERWRIGHT_CONFIG`, or `config.toml` in the standard place."""
    named = os.environ.get("CLUSTERWRIGHT_CONFIG")
    return (
        Path(named).expanduser() if named else Path(platformdirs.user_config_dir(_APP, appauthor=False)) / "config.toml"
    )
