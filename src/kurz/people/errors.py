"""What can go wrong with workspaces and their hosts."""

from kurz.errors import Kind, KurzError


class HostUnknown(KurzError):
    kind = Kind.NOT_FOUND
    code = "host-unknown"
    title = "This server does not answer for that host"


class WorkspaceNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "workspace-not-found"
    title = "There is no such workspace"
