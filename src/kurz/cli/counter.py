"""`kurz admin counter`: continues a series of counter codes that another system started."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli import output
from kurz.cli.session import AsJson, DataDir, note, with_kurz

if TYPE_CHECKING:
    from kurz.wiring.core import Kurz

MAX_SALT_BYTES = 1024
MAX_CODE_LENGTH = 10  # as in `number_in_series`


def counter(
    start: Annotated[
        int, typer.Option(min=0, help="Number of the next link: the last one used, plus 1.")
    ],
    salt_file: Annotated[
        Path, typer.Option(help="File with the salt of the series; - is standard input.")
    ],
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Continue a series of counter codes. Another system started it; its salt is needed.

    Requires KURZ_COUNTER_SCRAMBLE=offset, and only works before the first counter code."""
    from kurz.links.codes.counter import CounterCodes
    from kurz.links.errors import CounterStarted, SeriesRefused
    from kurz.storage.links.installation import load_or_create_key, start_counter

    salt = _salt(salt_file)

    async def work(kurz: "Kurz") -> str:
        settings = kurz.settings
        if settings.counter_scramble != "offset":
            raise SeriesRefused(
                "Only a series with an offset can be continued. Set"
                " KURZ_COUNTER_SCRAMBLE=offset first."
            )
        if settings.code_length > MAX_CODE_LENGTH:
            raise SeriesRefused(
                f"Only codes of up to {MAX_CODE_LENGTH} characters can be continued. Check"
                " KURZ_CODE_LENGTH."
            )
        if start >= 62**settings.code_length:
            raise SeriesRefused(
                f"There are only {62**settings.code_length} codes of {settings.code_length}"
                " characters. Check --start and KURZ_CODE_LENGTH."
            )
        codes = CounterCodes(
            await load_or_create_key(kurz.database, "code-key"), settings.code_length, "offset"
        )
        number = codes.number_in_series(start, salt)
        await note(kurz, "start-counter", start=start)
        if not await kurz.database.write(start_counter, number):
            raise CounterStarted(
                "This database already has counter codes. A series can only be continued in a"
                " new database."
            )
        return codes.code(number)

    code = with_kurz(data_dir, work)
    sentence = f"The next counter code is {code}."
    hint = "Compare it with your series. You can run this command again until the code is used."
    output.print_result({"start": start, "next_code": code}, sentence, hint, as_json=as_json)


def _salt(file: Path) -> bytes:
    """Without the line end that an editor adds."""
    from kurz.links.errors import SeriesRefused

    try:
        if str(file) == "-":
            salt = sys.stdin.buffer.read(MAX_SALT_BYTES + 3)
        else:
            with file.open("rb") as opened:
                salt = opened.read(MAX_SALT_BYTES + 3)
    except OSError as error:
        raise SeriesRefused(f"The salt cannot be read from {file}: {error.strerror}.") from None
    salt = salt.removesuffix(b"\n").removesuffix(b"\r")
    if not 0 < len(salt) <= MAX_SALT_BYTES:
        raise SeriesRefused(f"The salt must have 1 to {MAX_SALT_BYTES} bytes. Check {file}.")
    return salt
