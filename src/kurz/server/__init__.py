"""The process: the outermost ASGI application and what runs it."""
