"""What can go wrong with people, what they may do, and their workspaces."""

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
    code = "host-unknown"
    title = "Unknown host"


class HostUnclear(Invalid):
    code = "host-unclear"
    title = "Missing or ambiguous Host header"


class WorkspaceNotFound(NotFound):
    code = "workspace-not-found"
    title = "Workspace not found"


class CredentialRefused(Unauthenticated):
    code = "credential-refused"
    title = "Invalid token or API key"


class SignInRefused(Unauthenticated):
    code = "sign-in-refused"
    title = "Incorrect e-mail address or password"


class PermissionMissing(Forbidden):
    code = "permission-missing"
    title = "Permission denied"


class RequestForged(Forbidden):
    code = "request-forged"
    title = "Cross-site request blocked"


class RegistrationClosed(Forbidden):
    code = "registration-closed"
    title = "Registration is by invitation only"


class SignInBusy(Unavailable):
    code = "sign-in-busy"
    title = "Too many sign-ins in progress"
    retry_after_seconds = 2


class EmailRefused(Invalid):
    code = "email-refused"
    title = "Invalid e-mail address"
    field = "email"


class EmailTaken(Conflict):
    code = "email-taken"
    title = "E-mail address already in use"
    field = "email"


class PasswordRefused(Invalid):
    code = "password-refused"
    title = "Password not accepted"
    field = "password"


class AccountNotFound(NotFound):
    code = "account-not-found"
    title = "Account not found"


class OneTimeLinkRefused(Invalid):
    code = "one-time-link-refused"
    title = "Invalid one-time link"
    field = "token"


class KeyNotFound(NotFound):
    code = "key-not-found"
    title = "API key not found"


class NameRefused(Invalid):
    code = "name-refused"
    title = "Invalid name or value"


class SlugTaken(Conflict):
    code = "slug-taken"
    title = "Slug already taken"
    field = "slug"


class MemberNotFound(NotFound):
    code = "member-not-found"
    title = "Member not found"


class InvitationNotFound(NotFound):
    code = "invitation-not-found"
    title = "Invitation not found"


class OwnerMissing(Conflict):
    code = "owner-missing"
    title = "Workspace must have an owner"


class AdministratorExists(Conflict):
    code = "administrator-exists"
    title = "Administrator already exists"


class AdministratorMissing(Conflict):
    code = "administrator-missing"
    title = "At least one administrator is required"


class DomainRefused(Invalid):
    code = "domain-refused"
    title = "Invalid domain"
    field = "host"


class DomainTaken(Conflict):
    code = "domain-taken"
    title = "Domain belongs to another workspace"
    field = "host"


class DomainNotFound(NotFound):
    code = "domain-not-found"
    title = "Domain not found"


class DomainUnproven(Conflict):
    code = "domain-unproven"
    title = "TXT record not found"


class DomainLookupFailed(Unavailable):
    code = "domain-lookup-failed"
    title = "DNS lookup failed"


class QuotaExceeded(Limited):
    """`retry_after_seconds` is when the next month begins."""

    code = "quota-exceeded"
    title = "Monthly link quota reached"

    def __init__(self, detail: str, retry_after_seconds: int) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class IdempotencyKeyRefused(Invalid):
    code = "idempotency-key-refused"
    title = "Invalid Idempotency-Key"


class IdempotencyKeyReused(Invalid):
    code = "idempotency-key-reused"
    title = "Idempotency-Key already used"


class RequestInFlight(Conflict):
    code = "request-in-flight"
    title = "Request already in progress"
