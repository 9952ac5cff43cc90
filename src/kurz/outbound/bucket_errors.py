"""Why a bucket cannot be used, in words: what an error of the library means."""

import re
from urllib.parse import urlsplit

_ANSWERED = re.compile(r"status code: (\d{3})")
_ASKED = re.compile(r"performing [A-Z]+ (https?://\S+)")
_CAUSES = {
    401: "it rejects the key. Check the key's ID and its secret",
    403: "it rejects the key, or the key lacks a permission. Check the key and its permissions",
    404: "it has no such bucket. Create the bucket, or correct its name",
}


def reason_of(error: Exception) -> str:
    """With the server, and what to do; without the server's own answer, which is XML."""
    said = str(error).partition("\n")[0].partition(": <?xml")[0]
    asked, answered = _ASKED.search(said), _ANSWERED.search(said)
    if asked is None:
        return said.removeprefix("Generic S3 error: ")
    parts = urlsplit(asked[1])
    place = f"{parts.scheme}://{parts.netloc}"
    if answered is not None:
        cause = _CAUSES.get(int(answered[1]), "Look at its log")
        return f"{place} answers {answered[1]}: {cause}."
    if "error sending request" in said or "timed out" in said:
        return f"{place} cannot be reached. Check its address, and that it is running."
    return said.removeprefix("Generic S3 error: ")
