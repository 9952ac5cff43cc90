"""Databases with our schema, by copying one that has it: quicker than making the schema."""

import shutil
from pathlib import Path


def copy_database(template: Path, folder: Path) -> None:
    """Makes a data folder as `kurz migrate` would."""
    folder.mkdir(mode=0o700)
    shutil.copy(template, folder)
