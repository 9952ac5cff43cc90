"""JSON bodies, read by pydantic itself: a third of what FastAPI's own way through `email` headers,
`json` and validation costs, and its parser refuses what is not UTF-8."""

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from kurz.api.problems import refusal

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, model: type[Model]) -> Model:
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        raise refusal(error.errors(include_url=False, include_input=False)) from None


def described(model: type[BaseModel]) -> dict[str, Any]:
    """The `openapi_extra` of a route that reads such a body; `app` adds the schema itself."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
