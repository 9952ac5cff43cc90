"""People, keys and workspaces in the API."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field

from kurz.api.schemas.base import Paged, Strict
from kurz.people.access import Permission, Role

Days = Annotated[int, Field(strict=True, ge=0, le=36_500)]
AccountId = Annotated[int, Field(strict=True, ge=1, lt=2**53)]


class SessionStart(Strict):
    """What starts a session."""

    as_cookie: bool = Field(
        default=False,
        strict=True,
        description="Store the token in a cookie, for web pages. It is not returned then.",
    )


class Registration(SessionStart):
    email: str = Field(max_length=254, examples=["ada@example.com"])
    password: str = Field(description="At least 8 characters. Long passwords are not truncated.")
    invitation: str | None = Field(None, description="The token of an invitation link.")


class Credentials(SessionStart):
    email: str = Field(max_length=1024, examples=["ada@example.com"])
    password: str


class Setup(SessionStart):
    token: str = Field(description="The token of the set-up link that the server printed.")
    email: str = Field(max_length=254)
    password: str


class Reset(SessionStart):
    token: str = Field(description="The token of the one-time link.")
    password: str
    revoke_keys: bool = Field(
        default=True,
        strict=True,
        description="Also revoke your open invitations, your one-time links, and your keys except"
        " those for a single workspace.",
    )


class PasswordChange(Strict):
    old_password: str
    new_password: str
    revoke_keys: bool = Field(
        default=False,
        strict=True,
        description="Also revoke your open invitations, your one-time links, and your keys except"
        " those for a single workspace.",
    )


class AccountDelete(Strict):
    password: str = Field(description="Your current password.")


class AccountRead(BaseModel):
    id: int
    email: str
    is_admin: bool
    created_at: AwareDatetime
    signed_in_at: AwareDatetime | None
    disabled_at: AwareDatetime | None
    links_per_month: int | Literal["unlimited"] | None = Field(
        description="Links the account can create in a month; null: the server's default."
    )
    may_import_many: bool = Field(description="Whether an administrator has allowed large imports.")


class SessionRead(BaseModel):
    """`token` is null if it was stored in a cookie."""

    token: str | None
    expires_at: AwareDatetime
    account: AccountRead


class AccountEdit(Strict):
    is_admin: bool | None = Field(None, strict=True)
    is_disabled: bool | None = Field(None, strict=True)
    may_import_many: bool | None = Field(None, strict=True, description="Allow large imports.")


class AccountList(Paged):
    accounts: list[AccountRead]


class OneTimeLink(BaseModel):
    """Shown once. Give `url` to the recipient; it works once, until `expires_at`."""

    id: int
    url: str
    token: str
    expires_at: AwareDatetime


class MeRead(AccountRead):
    """`scopes` is what this token or key can do; `import_row_limit` is the maximum number of rows
    per import file."""

    scopes: list[Permission]
    import_row_limit: int


class KeyCreate(Strict):
    name: str = Field(examples=["release script"])
    scopes: list[Permission] = Field(min_length=1)
    workspace_id: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None,
        description="Limits the key to this workspace; if omitted, it works in all your"
        " workspaces.",
    )
    expires_at: AwareDatetime | None = None


class KeyRead(BaseModel):
    """`prefix` is the start of the key."""

    id: int
    name: str
    prefix: str
    scopes: list[Permission]
    workspace_id: int | None
    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    last_used_at: AwareDatetime | None


class NewKeyRead(KeyRead):
    """Store `key`: it is shown once."""

    key: str


class KeyList(Paged):
    keys: list[KeyRead]


class WorkspaceCreate(Strict):
    name: str = Field(examples=["Press office"])
    slug: str = Field(description="Its links use `/@slug/`.", examples=["press"])


class WorkspaceEdit(Strict):
    """Fields to change. Omitted fields stay the same."""

    name: str | None = None
    slug: str | None = Field(None, description="Old slugs continue to work.")
    root_url: str | None = Field(
        None, description="Where `/` of its domains redirects to; null: nowhere."
    )
    strategy: Literal["deterministic", "random", "counter"] | None = None
    default_expiry_days: Days | None = Field(
        None,
        description="Default expiry of its links, in days; 0: never; null: the server's default.",
    )


class WorkspaceRead(BaseModel):
    """`role` is your role in it."""

    id: int
    name: str
    slug: str
    root_url: str | None
    strategy: str
    default_expiry_days: int | None
    links_per_month: int | None
    created_at: AwareDatetime
    deleted_at: AwareDatetime | None
    role: Role | None


class WorkspaceList(Paged):
    workspaces: list[WorkspaceRead]


class QuotaRead(BaseModel):
    """Links created this month (UTC), the limit, and when the next month begins. All null:
    unlimited and not counted."""

    links_per_month: int | None
    links_this_month: int | None
    resets_at: AwareDatetime | None


class QuotaEdit(Strict):
    links_per_month: Annotated[int, Field(strict=True, ge=0, le=10**12)] | None = Field(
        description="Links that can be created in it in a month; null: unlimited."
    )


class AccountQuotaEdit(Strict):
    links_per_month: (
        Annotated[int, Field(strict=True, ge=0, le=10**12)] | Literal["unlimited"] | None
    ) = Field(
        description="Links the account can create in a month, `unlimited`, or null for the"
        " server's default."
    )


class MemberRead(BaseModel):
    account_id: int
    email: str
    role: Role
    created_at: AwareDatetime


class MemberList(Paged):
    members: list[MemberRead]


class MemberEdit(Strict):
    role: Role


class InvitationCreate(Strict):
    role: Role = Role.VIEWER


class InvitationRead(BaseModel):
    id: int
    workspace_id: int | None
    role: Role | None
    created_by: int | None
    created_at: AwareDatetime
    expires_at: AwareDatetime


class InvitationList(Paged):
    invitations: list[InvitationRead]


class InvitationAccept(Strict):
    token: str = Field(description="The token of the invitation link.")


class Transfer(Strict):
    account_id: AccountId = Field(description="The member who becomes the owner.")


class DomainCreate(Strict):
    host: str = Field(examples=["go.example.com"])


class DomainRead(BaseModel):
    """A domain works once it is verified. Add a TXT record `record_name` with the value
    `record_value`, then verify."""

    host: str
    is_verified: bool
    verified_at: AwareDatetime | None
    checked_at: AwareDatetime | None
    missing_since: AwareDatetime | None = Field(
        description="When the TXT record of a verified domain was first found missing."
    )
    created_at: AwareDatetime
    record_name: str
    record_value: str


class DomainList(Paged):
    domains: list[DomainRead]


class DomainAllowed(BaseModel):
    host: str
    is_allowed: bool
