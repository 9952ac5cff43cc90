"""People, keys and workspaces as the API takes and gives them."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from kurz.api.schemas.pages import Paged
from kurz.people.access import Permission, Role

Days = Annotated[int, Field(strict=True, ge=0, le=36_500)]
AccountId = Annotated[int, Field(strict=True, ge=1, lt=2**53)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Entry(Strict):
    """What begins a session."""

    as_cookie: bool = Field(
        default=False,
        strict=True,
        description="Keep the token in a cookie, for pages; it is not shown then.",
    )


class Registration(Entry):
    email: str = Field(max_length=254, examples=["ada@example.com"])
    password: str = Field(description="At least 8 characters; all of them count.")
    invitation: str | None = Field(None, description="The token of an invitation link.")


class Credentials(Entry):
    email: str = Field(max_length=1024, examples=["ada@example.com"])
    password: str


class Setup(Entry):
    token: str = Field(description="The token of the set-up link that the server printed.")
    email: str = Field(max_length=254)
    password: str


class Reset(Entry):
    token: str = Field(description="The token of the one-time link.")
    password: str
    ends_keys: bool = Field(
        default=True,
        strict=True,
        description="Also revoke your keys, except those for a single workspace, and the open"
        " invitations and one-time links that you made.",
    )


class PasswordChange(Strict):
    old_password: str
    new_password: str
    ends_keys: bool = Field(
        default=False,
        strict=True,
        description="Also revoke your keys, except those for a single workspace, and the open"
        " invitations and one-time links that you made.",
    )


class AccountDelete(Strict):
    password: str = Field(description="The present password: deleting cannot be undone.")


class AccountRead(BaseModel):
    id: int
    email: str
    is_admin: bool
    created_at: AwareDatetime
    signed_in_at: AwareDatetime | None
    disabled_at: AwareDatetime | None
    links_per_month: int | Literal["unlimited"] | None = Field(
        description="Links that this person may create in a month; null: the server's default."
    )
    may_import_many: bool = Field(description="An administrator has allowed large imports.")


class SessionRead(BaseModel):
    """`token` is null where it was put into a cookie."""

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
    """Shown once. Hand `url` to the person it is for; it works once, until `expires_at`."""

    id: int
    url: str
    token: str
    expires_at: AwareDatetime


class MeRead(AccountRead):
    """`scopes` is what this token or key may do; `import_row_limit` is how many rows you may import
    from one file."""

    scopes: list[Permission]
    import_row_limit: int


class KeyCreate(Strict):
    name: str = Field(examples=["release script"])
    scopes: list[Permission] = Field(min_length=1)
    workspace_id: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Only for this workspace; else for all that you may."
    )
    expires_at: AwareDatetime | None = None


class KeyRead(BaseModel):
    """`prefix` is how the key begins."""

    id: int
    name: str
    prefix: str
    scopes: list[Permission]
    workspace_id: int | None
    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    last_used_at: AwareDatetime | None


class NewKeyRead(KeyRead):
    """Keep `key`: it is shown once."""

    key: str


class KeyList(Paged):
    keys: list[KeyRead]


class WorkspaceCreate(Strict):
    name: str = Field(examples=["Press office"])
    slug: str = Field(description="Its links stand under `/@slug/`.", examples=["press"])


class WorkspaceEdit(Strict):
    """What to change; what is left out stays."""

    name: str | None = None
    slug: str | None = Field(None, description="Old slugs go on answering.")
    root_url: str | None = Field(None, description="Where `/` of its domains leads; null: nowhere.")
    strategy: Literal["deterministic", "random", "counter"] | None = None
    default_expiry_days: Days | None = Field(
        None, description="Days that its links live by default; 0: for ever; null: as installed."
    )


class WorkspaceRead(BaseModel):
    """`role` is yours in it."""

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
    """What was made this month (UTC) of what may be, and when the next one begins. All null: any
    number may be made, and nobody counts."""

    links_per_month: int | None
    links_this_month: int | None
    resets_at: AwareDatetime | None


class QuotaEdit(Strict):
    links_per_month: Annotated[int, Field(strict=True, ge=0, le=10**12)] | None = Field(
        description="Links that may be made in it in a month; null: any number."
    )


class AccountQuotaEdit(Strict):
    links_per_month: (
        Annotated[int, Field(strict=True, ge=0, le=10**12)] | Literal["unlimited"] | None
    ) = Field(
        description="Links that the person may create in a month, `unlimited`, or null for the"
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
    account_id: AccountId = Field(description="The member who is to own the workspace.")


class DomainCreate(Strict):
    host: str = Field(examples=["go.example.com"])


class DomainRead(BaseModel):
    """Until it is verified it serves nothing. Add a TXT record `record_name` with the value
    `record_value`, then verify."""

    host: str
    is_verified: bool
    verified_at: AwareDatetime | None
    checked_at: AwareDatetime | None
    missing_since: AwareDatetime | None = Field(
        description="Since when the record of a domain that was verified is not there any more."
    )
    created_at: AwareDatetime
    record_name: str
    record_value: str


class DomainList(Paged):
    domains: list[DomainRead]


class DomainAllowed(BaseModel):
    host: str
    is_allowed: bool
