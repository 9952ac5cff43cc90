"""What can be wrong with a file as a whole. What is wrong with a row is that row's result."""

from kurz.errors import Kind, KurzError


class FileRefused(KurzError):
    kind = Kind.INVALID
    code = "file-refused"
    title = "File cannot be imported"
