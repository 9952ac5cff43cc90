"""What can go wrong with people, what they may do, and their workspaces."""

from kurz.errors import Kind, KurzError, Unavailable


class HostUnknown(KurzError):
    kind = Kind.NOT_FOUND
    code = "host-unknown"
    title = "Unknown host"


class HostUnclear(KurzError):
    kind = Kind.INVALID
    code = "host-unclear"
    title = "Missing or ambiguous Host header"


class WorkspaceNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "workspace-not-found"
    title = "Workspace not found"


class CredentialRefused(KurzError):
    kind = Kind.UNAUTHENTICATED
    code = "credential-refused"
    title = "Invalid token or API key"


class SignInRefused(KurzError):
    kind = Kind.UNAUTHENTICATED
    code = "sign-in-refused"
    title = "Incorrect e-mail address or password"


class PermissionMissing(KurzError):
    kind = Kind.FORBIDDEN
    code = "permission-missing"
    title = "Permission denied"


class RequestForged(KurzError):
    kind = Kind.FORBIDDEN
    code = "request-forged"
    title = "Cross-site request blocked"


class RegistrationClosed(KurzError):
    kind = Kind.FORBIDDEN
    code = "registration-closed"
    title = "Registration is by invitation only"


class SignInBusy(Unavailable):
    code = "sign-in-busy"
    title = "Too many sign-ins in progress"
    retry_after_seconds = 2


class EmailRefused(KurzError):
    kind = Kind.INVALID
    code = "email-refused"
    title = "Invalid e-mail address"
    field = "email"


class EmailTaken(KurzError):
    kind = Kind.CONFLICT
    code = "email-taken"
    title = "E-mail address already in use"
    field = "email"


class PasswordRefused(KurzError):
    kind = Kind.INVALID
    code = "password-refused"
    title = "Password not accepted"
    field = "password"


class AccountNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "account-not-found"
    title = "Account not found"


class PassRefused(KurzError):
    kind = Kind.INVALID
    code = "pass-refused"
    title = "Invalid one-time link"
    field = "token"


class KeyNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "key-not-found"
    title = "API key not found"


class NameRefused(KurzError):
    kind = Kind.INVALID
    code = "name-refused"
    title = "Invalid name or value"


class SlugTaken(KurzError):
    kind = Kind.CONFLICT
    code = "slug-taken"
    title = "Slug already taken"
    field = "slug"


class MemberNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "member-not-found"
    title = "Member not found"


class InvitationNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "invitation-not-found"
    title = "Invitation not found"


class OwnerMissing(KurzError):
    kind = Kind.CONFLICT
    code = "owner-missing"
    title = "Workspace must have an owner"


class AdministratorExists(KurzError):
    kind = Kind.CONFLICT
    code = "administrator-exists"
    title = "Administrator already exists"


class AdministratorMissing(KurzError):
    kind = Kind.CONFLICT
    code = "administrator-missing"
    title = "At least one administrator is required"


class DomainRefused(KurzError):
    kind = Kind.INVALID
    code = "domain-refused"
    title = "Invalid domain"
    field = "host"


class DomainTaken(KurzError):
    kind = Kind.CONFLICT
    code = "domain-taken"
    title = "Domain belongs to another workspace"
    field = "host"


class DomainNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "domain-not-found"
    title = "Domain not found"


class DomainUnproven(KurzError):
    kind = Kind.CONFLICT
    code = "domain-unproven"
    title = "TXT record not found"


class DomainLookupFailed(Unavailable):
    code = "domain-lookup-failed"
    title = "DNS lookup failed"


class QuotaExceeded(KurzError):
    """`retry_after_seconds` is when the next month begins."""

    kind = Kind.LIMITED
    code = "quota-exceeded"
    title = "Monthly link quota reached"

    def __init__(self, detail: str, retry_after_seconds: int) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class IdempotencyKeyRefused(KurzError):
    kind = Kind.INVALID
    code = "idempotency-key-refused"
    title = "Invalid Idempotency-Key"


class IdempotencyKeyReused(KurzError):
    kind = Kind.INVALID
    code = "idempotency-key-reused"
    title = "Idempotency-Key already used"


class RequestInFlight(KurzError):
    kind = Kind.CONFLICT
    code = "request-in-flight"
    title = "Request already in progress"
