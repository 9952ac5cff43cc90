"""The form on a preview page that reports a link as abused."""

from urllib.parse import parse_qsl

from kurz.asgi import Receive
from kurz.errors import Invalid
from kurz.links.errors import LinkNotFound
from kurz.links.lifecycle import Outcome
from kurz.links.ports import LinkStore
from kurz.people.errors import RequestForged
from kurz.people.limits import LimitClass, Limits
from kurz.redirect.preview_bots import Header
from kurz.safety.abuse_reporting import AbuseReports
from kurz.safety.abuse_reports import read_complaint

MAX_FORM_BYTES = 32 * 1024  # the longest message and contact in any script: 12 bytes a letter
MAX_FIELDS = 10
FORM = b"application/x-www-form-urlencoded"
# A link in one of these states cannot be reported.
GONE = frozenset({Outcome.MISSING, Outcome.EXPIRED, Outcome.EXHAUSTED, Outcome.BANNED})


class FormRefused(Invalid):
    title = "Invalid report form"


class ReportForm:
    def __init__(self, reports: AbuseReports, links: LinkStore, limits: Limits) -> None:
        self._reports = reports
        self._links = links
        self._limits = limits

    async def take(
        self,
        place: tuple[int, str, str],
        subject: str,
        origin: str,
        header: Header,
        receive: Receive,
    ) -> None:
        """`place` is the link's workspace, its code and its short URL; `subject` is who is charged
        by limits."""
        _refuse_forged(header, origin)
        form = await _read_form(header, receive)
        complaint = read_complaint(
            form.get("category", ""), form.get("message"), form.get("contact")
        )
        await self._limits.check(LimitClass.REPORT, subject)
        workspace_id, code, short_url = place
        link = await self._links.find_by_code(workspace_id, code)
        if link is None:
            raise LinkNotFound("There is no link at this address.")
        await self._reports.take(link, short_url, complaint, subject)


def _refuse_forged(header: Header, origin: str) -> None:
    """Browsers send the origin of a form; other programs send none."""
    site, sent = header(b"sec-fetch-site"), header(b"origin")
    is_own = site in (None, b"same-origin", b"none") and sent in (None, origin.encode())
    if not is_own:
        raise RequestForged("This form was sent from another site.")


async def _read_form(header: Header, receive: Receive) -> dict[str, str]:
    media_type = (header(b"content-type") or b"").partition(b";")[0].strip().lower()
    if media_type != FORM:
        raise FormRefused(f"Send the form as {FORM.decode()}.")
    body = b""
    is_more = True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise FormRefused("The form is incomplete. Send it again.")
        body += message.get("body", b"")
        is_more = message.get("more_body", False)
        if len(body) > MAX_FORM_BYTES:
            raise FormRefused(f"The form can have at most {MAX_FORM_BYTES} bytes.")
    try:
        fields = parse_qsl(body.decode("latin-1"), max_num_fields=MAX_FIELDS, errors="replace")
    except ValueError:
        raise FormRefused(f"The form can have at most {MAX_FIELDS} fields.") from None
    return dict(fields)
