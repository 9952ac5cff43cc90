"""Whether a caller's proof of identity is still valid, checked inside a write."""

import sqlalchemy as sa

from kurz.people.errors import CredentialRefused
from kurz.storage.schema.people import accounts


def require_epoch(connection: sa.Connection, account_id: int, epoch: int | None) -> None:
    """`CredentialRefused` if the account is gone, or if its password, role or state was changed
    since the caller was identified, which may be seconds ago. None: no caller has to be checked.
    The account stays locked until the transaction ends, so that a reset cannot miss what this
    transaction writes. Lock workspaces and one-time links after it."""
    if epoch is None:
        return
    query = sa.select(accounts.c.epoch).where(accounts.c.id == account_id)
    if connection.execute(query.with_for_update(key_share=True)).scalar() != epoch:
        raise CredentialRefused("Your password or permissions have changed. Sign in again.")
