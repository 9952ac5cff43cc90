"""`kurz qr`: the QR code of a link."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli import values
from kurz.cli.links import Reference
from kurz.cli.session import DataDir, with_kurz
from kurz.cli.workspace_lookup import address_of, find_workspace, id_of
from kurz.files import written_whole

if TYPE_CHECKING:
    from kurz.wiring.core import Kurz

SUFFIXES = {".svg": "svg", ".png": "png"}

commands = typer.Typer()


@commands.command()
def qr(
    link: Reference,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="File to write to; - is standard output. Prints text if omitted."
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="svg or png; taken from the file name if omitted."),
    ] = None,
    size: Annotated[int, typer.Option(help="Size in pixels, 64 to 2048.")] = 512,
    margin: Annotated[int, typer.Option(help="Margin in modules, 0 to 16.")] = 4,
    error: Annotated[
        str, typer.Option(help="Error correction level: L, M, Q or H (7, 15, 25 or 30 %).")
    ] = "M",
    dark: Annotated[str, typer.Option(help="Foreground colour, such as #1a2b3c.")] = "#000000",
    light: Annotated[str, typer.Option(help="Background colour, or transparent.")] = "#ffffff",
    data_dir: DataDir = None,
) -> None:
    """Print a link's QR code, or write it to a file."""
    from kurz.links.qr import print_out, render

    address = with_kurz(data_dir, lambda kurz: _short_url(kurz, link))
    level = error.upper()
    if output is None and format_ is None:
        for line in print_out(address, margin=margin, error=level).splitlines():
            typer.secho(line, fg="bright_white", bg="black")  # in a light terminal too
        typer.secho(address, err=True, dim=True)
        return
    chosen = format_ or SUFFIXES.get(Path(output or "").suffix.lower())
    if chosen is None:
        raise typer.BadParameter("specify the format: --format svg or --format png")
    picture = render(
        address, format=chosen, size=size, margin=margin, error=level, dark=dark, light=light
    )
    if output in (None, "-"):
        typer.echo(picture, nl=False)
    else:
        with written_whole(Path(output or "")) as file:
            file.write(picture)


async def _short_url(kurz: "Kurz", reference: str) -> str:
    _, slug, code = values.reference(reference)
    found = await kurz.links.get_by_code(id_of(await find_workspace(kurz, slug)), code)
    return await address_of(kurz, found)
