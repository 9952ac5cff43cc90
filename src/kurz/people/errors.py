"""Errors about accounts, permissions and workspaces."""

from kurz.errors import (
    Conflict,
    Forbidden,
    Invalid,
    Limited,
    NotFound,
    Unauthenticated,
    Unavailable,
)


class HostUnknown(NotFound):
    title = "Unknown host"


class HostUnclear(Invalid):
    title = "Missing or ambiguous Host header"


class WorkspaceNotFound(NotFound):
    title = "Workspace not found"


class CredentialRefused(Unauthenticated):
    title = "Invalid token or API key"


class SignInRefused(Unauthenticated):
    title = "Incorrect e-mail address or password"


class PermissionMissing(Forbidden):
    title = "Permission denied"


class RequestForged(Forbidden):
    title = "Cross-site request blocked"


class RegistrationClosed(Forbidden):
    title = "Registration is by invitation only"


class SignInBusy(Unavailable):
    title = "Too many sign-ins in progress"
    retry_after_seconds = 2


class EmailRefused(Invalid):
    title = "Invalid e-mail address"
    field = "email"


class EmailTaken(Conflict):
    title = "E-mail address already in use"
    field = "email"


class PasswordRefused(Invalid):
    title = "Password not accepted"
    field = "password"


class AccountNotFound(NotFound):
    title = "Account not found"


class OneTimeLinkRefused(Invalid):
    title = "Invalid one-time link"
    field = "token"


class KeyNotFound(NotFound):
    title = "API key not found"


class NameRefused(Invalid):
    title = "Invalid name or value"


class SlugTaken(Conflict):
    title = "Slug already taken"
    field = "slug"


class MemberNotFound(NotFound):
    title = "Member not found"


class InvitationNotFound(NotFound):
    title = "Invitation not found"


class OwnerMissing(Conflict):
    title = "Workspace must have an owner"


class AdministratorExists(Conflict):
    title = "Administrator already exists"


class AdministratorMissing(Conflict):
    title = "At least one administrator is required"


class DomainRefused(Invalid):
    title = "Invalid domain"
    field = "host"


class DomainTaken(Conflict):
    title = "Domain in use by another workspace"
    field = "host"


class DomainNotFound(NotFound):
    title = "Domain not found"


class DomainNotVerified(Conflict):
    title = "TXT record not found"


class DomainLookupFailed(Unavailable):
    title = "DNS lookup failed"


class QuotaExceeded(Limited):
    """`retry_after_seconds` is when the next month begins."""

    title = "Monthly link quota reached"

    def __init__(self, detail: str, retry_after_seconds: int) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class IdempotencyKeyRefused(Invalid):
    title = "Invalid Idempotency-Key"


class IdempotencyKeyReused(Invalid):
    title = "Idempotency-Key already used"


class RequestInFlight(Conflict):
    title = "Request already in progress"
