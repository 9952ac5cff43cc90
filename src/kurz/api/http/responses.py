"""Answers that are text already when a route returns them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.responses import Response


class JsonResponse(Response):
    """JSON that pydantic has written: FastAPI would validate a model again before it dumps it."""

    media_type = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer in JSON, which can also be kept and sent again."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def respond(self, cookies: Sequence[str] = (), **extra: str) -> Response:
        added = {name.replace("_", "-"): value for name, value in extra.items()}
        response = JsonResponse(self.body, self.status, self.headers | added)
        for cookie in cookies:
            response.headers.append("set-cookie", cookie)
        return response
