"""What can be wrong with a file as a whole. What is wrong with a row is that row's result."""

from kurz.errors import Invalid


class FileRefused(Invalid):
    """Columns that are unknown or doubled are named in the error's fields, under `reason`, so that
    other languages can say it too."""

    title = "File cannot be imported"
