"""What can go wrong with people, what they may do, and their workspaces."""

from kurz.errors import Kind, KurzError, Unavailable


class HostUnknown(KurzError):
    kind = Kind.NOT_FOUND
    code = "host-unknown"
    title = "This server does not answer for that host"


class HostUnclear(KurzError):
    kind = Kind.INVALID
    code = "host-unclear"
    title = "The request does not say which host it is for"


class WorkspaceNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "workspace-not-found"
    title = "There is no such workspace"


class CredentialRefused(KurzError):
    kind = Kind.UNAUTHENTICATED
    code = "credential-refused"
    title = "This token or key does not open anything"


class SignInRefused(KurzError):
    kind = Kind.UNAUTHENTICATED
    code = "sign-in-refused"
    title = "E-mail and password do not fit"


class PermissionMissing(KurzError):
    kind = Kind.FORBIDDEN
    code = "permission-missing"
    title = "This is not yours to do"


class RequestForged(KurzError):
    kind = Kind.FORBIDDEN
    code = "request-forged"
    title = "This request came from another site"


class RegistrationClosed(KurzError):
    kind = Kind.FORBIDDEN
    code = "registration-closed"
    title = "Accounts are made by invitation here"


class SignInBusy(Unavailable):
    code = "sign-in-busy"
    title = "Too many people sign in at once"
    retry_after_seconds = 2


class EmailRefused(KurzError):
    kind = Kind.INVALID
    code = "email-refused"
    title = "This e-mail address cannot be used"


class EmailTaken(KurzError):
    kind = Kind.CONFLICT
    code = "email-taken"
    title = "This e-mail address has an account"


class PasswordRefused(KurzError):
    kind = Kind.INVALID
    code = "password-refused"
    title = "This password cannot be used"


class AccountNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "account-not-found"
    title = "There is no such account"


class PassRefused(KurzError):
    kind = Kind.INVALID
    code = "pass-refused"
    title = "This one-time link does not work"


class KeyNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "key-not-found"
    title = "There is no such key"


class NameRefused(KurzError):
    kind = Kind.INVALID
    code = "name-refused"
    title = "This name cannot be used"


class SlugTaken(KurzError):
    kind = Kind.CONFLICT
    code = "slug-taken"
    title = "This slug is taken"


class MemberNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "member-not-found"
    title = "There is no such member"


class InvitationNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "invitation-not-found"
    title = "There is no such invitation"


class OwnerMissing(KurzError):
    kind = Kind.CONFLICT
    code = "owner-missing"
    title = "A workspace needs an owner"


class AdministratorExists(KurzError):
    kind = Kind.CONFLICT
    code = "administrator-exists"
    title = "There already is an administrator"


class AdministratorMissing(KurzError):
    kind = Kind.CONFLICT
    code = "administrator-missing"
    title = "An installation needs an administrator"


class DomainRefused(KurzError):
    kind = Kind.INVALID
    code = "domain-refused"
    title = "This domain cannot be used"


class DomainTaken(KurzError):
    kind = Kind.CONFLICT
    code = "domain-taken"
    title = "This domain belongs to another workspace"


class DomainNotFound(KurzError):
    kind = Kind.NOT_FOUND
    code = "domain-not-found"
    title = "There is no such domain"


class DomainUnproven(KurzError):
    kind = Kind.CONFLICT
    code = "domain-unproven"
    title = "The domain's TXT record is not there"


class DomainLookupFailed(Unavailable):
    code = "domain-lookup-failed"
    title = "The name servers do not answer"


class QuotaExceeded(KurzError):
    """`retry_after_seconds` is when the next month begins."""

    kind = Kind.LIMITED
    code = "quota-exceeded"
    title = "The quota of links is used up"

    def __init__(self, detail: str, retry_after_seconds: int) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class IdempotencyKeyRefused(KurzError):
    kind = Kind.INVALID
    code = "idempotency-key-refused"
    title = "This Idempotency-Key cannot be used"


class IdempotencyKeyReused(KurzError):
    kind = Kind.INVALID
    code = "idempotency-key-reused"
    title = "This Idempotency-Key belongs to another request"


class RequestInFlight(KurzError):
    kind = Kind.CONFLICT
    code = "request-in-flight"
    title = "The same request is being worked on"
