"""The measure of `create.py`: a FastAPI route that validates a create's body and does nothing."""

import socket

import uvicorn
import uvloop
from fastapi import FastAPI

from kurz.api.schemas.links import LinkCreate

app = FastAPI()


@app.post("/links", status_code=201)
async def create(body: LinkCreate) -> dict[str, str]:  # noqa: ARG001  to be validated is its purpose
    return {}


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False
    )
    uvloop.run(uvicorn.Server(config).serve(sockets=[listener]))
