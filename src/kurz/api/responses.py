"""Answers that are text already when a route returns them."""

from starlette.responses import Response


class JsonResponse(Response):
    """JSON that pydantic has written: FastAPI would validate a model again before it dumps it."""

    media_type = "application/json"
