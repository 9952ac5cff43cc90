"""Answers that are already text when a route returns them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.responses import Response


class JsonResponse(Response):
    """JSON written by pydantic: FastAPI would validate a model again before dumping it."""

    media_type = "application/json"


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A whole answer in JSON, which can be stored and sent again."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def respond(self, cookies: Sequence[str] = (), **extra: str) -> Response:
        added = {name.replace("_", "-"): value for name, value in extra.items()}
        response = JsonResponse(self.body, self.status, self.headers | added)
        for cookie in cookies:
            response.headers.append("set-cookie", cookie)
        return response
