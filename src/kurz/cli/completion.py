"""`kurz completion`: a script that lets a shell complete commands and options. It contains
all of them, because starting kurz at every Tab would take longer than typing."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

commands = typer.Typer()


class ShellName(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class Option(NamedTuple):
    names: tuple[str, ...]
    help: str
    takes_value: bool


class Node(NamedTuple):
    """A command, by all the words that lead to it: `kurz admin key`."""

    path: str
    commands: dict[str, str]  # the help of each
    options: list[Option]


@commands.command()
def completion(
    context: typer.Context,
    shell: Annotated[ShellName, typer.Argument(help="The shell that runs the script.")],
) -> None:
    """Print a script that completes commands and options."""
    nodes = list(walk(context.find_root().command, "kurz"))
    typer.echo(
        _fish(nodes) if shell is ShellName.FISH else _bash(nodes, is_zsh=shell is ShellName.ZSH)
    )


def walk(command: Any, path: str) -> Iterator[Node]:
    """The command and all below it."""
    below = {
        name: inner for name, inner in getattr(command, "commands", {}).items() if not inner.hidden
    }
    helps = {name: inner.get_short_help_str(80) for name, inner in below.items()}
    yield Node(path, helps, [*_options(command)])
    for name, inner in below.items():
        yield from walk(inner, f"{path} {name}")


def _options(command: Any) -> Iterator[Option]:
    for parameter in command.params:
        names = (*parameter.opts, *parameter.secondary_opts)
        if parameter.param_type_name == "option" and not parameter.hidden:
            yield Option(names, parameter.help or "", not parameter.is_flag)
    yield Option(("--help",), "Show the help.", takes_value=False)


_BASH = """\
_kurz() {{
    local place=kurz word known=
    for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
        case "$place $word" in
            {paths}) place="$place $word" ;;
        esac
    done
    case "$place" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$known" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _kurz kurz"""
_ZSH = "#compdef kurz\nautoload -U +X bashcompinit && bashcompinit\n"


def _bash(nodes: list[Node], *, is_zsh: bool) -> str:
    """Zsh runs the same. Where no word fits, the shell completes the names of files."""
    cases = [f'        "{node.path}") known="{" ".join(_words(node))}" ;;' for node in nodes]
    script = _BASH.format(paths=_paths(nodes, "|"), cases="\n".join(cases))
    return (_ZSH if is_zsh else "") + script


def _words(node: Node) -> list[str]:
    return [*node.commands, *(name for option in node.options for name in option.names)]


def _paths(nodes: list[Node], separator: str) -> str:
    return separator.join(f'"{node.path}"' for node in nodes[1:])


_FISH = """\
function __kurz_path
    set -l path kurz
    for word in (commandline -opc)[2..-1]
        switch "$path $word"
            case {paths}
                set path "$path $word"
        end
    end
    echo $path
end"""


def _fish(nodes: list[Node]) -> str:
    lines = [_FISH.format(paths=_paths(nodes, " "))]
    for node in nodes:
        start = f"complete -c kurz -n 'test (__kurz_path) = \"{node.path}\"'"
        lines += [
            f"{start} -f -a {name} -d {_quoted(text)}" for name, text in node.commands.items()
        ]
        lines += [f"{start} {_fish_option(option)}" for option in node.options]
    return "\n".join(lines)


def _fish_option(option: Option) -> str:
    flags = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    value = " -r" if option.takes_value else ""
    return f"{' '.join(flags)}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
