"""Exits with 0 if kurz in this container is ready: its HEALTHCHECK, without curl."""

import http.client
import os
import sys


def main() -> int:
    port = int(os.environ.get("KURZ_PORT", "8080"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        print(answer.status, answer.read(1000).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as error:
        print(f"kurz does not answer on port {port}: {error}")
        return 1
    return 0 if answer.status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
