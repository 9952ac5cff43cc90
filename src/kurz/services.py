"""The services over one database: what the API and the command line both work with."""

from dataclasses import dataclass

from kurz.clicks.stats import Stats
from kurz.clock import Clock
from kurz.links.availability import Availability
from kurz.links.ending.trash import Trash
from kurz.links.ports import Screen
from kurz.links.service import LinkService
from kurz.links.tagging import Tagging
from kurz.links.transfers import LinkExporter, LinkImporter
from kurz.people.accounts import AccountService
from kurz.people.domains import Domains
from kurz.people.keys import KeyService
from kurz.people.one_time_tokens import OneTimeTokens
from kurz.people.teams import Teams
from kurz.people.workspaces import WorkspaceStore
from kurz.safety.abuse_reporting import AbuseReports
from kurz.safety.audit import AuditStore
from kurz.safety.banning import Bans


@dataclass(frozen=True, kw_only=True)
class Services:
    clock: Clock
    links: LinkService
    screen: Screen
    availability: Availability
    trash: Trash
    tagging: Tagging
    stats: Stats
    exporter: LinkExporter
    importer: LinkImporter
    accounts: AccountService
    keys: KeyService
    one_time_tokens: OneTimeTokens
    teams: Teams
    workspaces: WorkspaceStore
    domains: Domains
    audit: AuditStore
    bans: Bans
    abuse: AbuseReports
