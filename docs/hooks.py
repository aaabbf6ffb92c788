"""The parts of the documentation site that mkdocs does not do by itself.

Pages that are made from the code (commands, JSON Schemas) or from files beside docs/ (changes, security); links from
pages to files of the repository; pictures, which stand in the page so that they follow its colours.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from absint import Result
from absint.cli import GROUPS, cli
from absint.commands.command import Command
from absint.show.schemas import json_schema, names

ROOT: Final = Path(__file__).parents[1]
WIDTH: Final = 78
"""Columns of a help text that is not printed on a terminal."""
COPIED: Final = {"CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
"""Pages that stand beside docs/ in the repository."""
RESULT: Final = "reference/result.md"
DOWNLOADS: Final = ("examples/tour.ipynb", "examples/data_flow.py")

FENCE: Final = re.compile(r"^```python run$", re.MULTILINE)
LINK: Final = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+|docs/)([^()\s#]+)(#[^()\s]*)?\)")
BARE: Final = re.compile(r"(?<![\w/(\[`])docs/([\w/-]+\.md)\b")
"""A page that a text names without a link."""
NAMED: Final = re.compile(r"\[([\w/.-]+\.md)\]\(\1(#[^()\s]*)?\)")
"""A link whose text is the file."""
PICTURE: Final = re.compile(r"^!\[([^\]]*)\]\((?:\.\./)?(pictures/[\w-]+\.svg)\)$", re.MULTILINE)
SHOT: Final = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)?pictures/[\w-]+)-light\.png\)")
"""A picture of a screen, which there is in both schemes."""
STYLE: Final = re.compile(r"<style>.*?</style>\s*", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, content in pages():
        files.append(File.generated(config, path, content=content))
    for name in DOWNLOADS:
        files.append(File.generated(config, f"files/{name}", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    depth = "../" * page.file.src_uri.count("/")
    text = FENCE.sub("```python", markdown)
    text = LINK.sub(lambda found: linked(found, depth), text)
    if page.file.src_uri in COPIED.values():
        text = BARE.sub(lambda found: f"[{found[1]}]({found[1]})" if found[1] in files.src_uris else found[0], text)
    if page.file.src_uri == RESULT:
        text += "".join(f"\n::: absint.Result.{name}\n    options: {{heading_level: 3}}\n" for name in others(text))
    text = NAMED.sub(lambda found: titled(found, page.file.src_uri, files), text)
    text = SHOT.sub(r"![\1](\2-light.png#only-light)![\1](\2-dark.png#only-dark)", text)
    return PICTURE.sub(lambda found: inlined(found[1], found[2]), text)


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page or file that is made, not written."""
    for name, path in COPIED.items():
        yield path, (ROOT / name).read_text("utf-8")
    yield "reference/commands.md", commands()
    yield "reference/schemas.md", schemas()
    for name in names():
        yield f"reference/schemas/{name}.json", json.dumps(json_schema(name), indent=1) + "\n"


def others(text: str) -> list[str]:
    """Public members of `Result` that the page about it does not show by name."""
    names = (name for name in dir(Result) if not name.startswith("_"))
    return [name for name in names if f"absint.Result.{name}\n" not in text]


def commands() -> str:
    """The help of every command, word for word."""
    parts = [
        "# Commands and options",
        "The help texts of `absint` and its commands. What they share: [the command line](../command-line.md).",
    ]
    context = click.Context(cli, info_name="absint", terminal_width=WIDTH, **cli.context_settings)
    parts += ["## absint", f"```text\n{cli.get_help(context)}\n```"]
    for group in GROUPS.values():
        for name in group:
            command = cli.get_command(context, name)
            assert isinstance(command, Command)
            inner = click.Context(command, parent=context, info_name=name, **command.context_settings)
            parts += [f"## absint {name}", f"```text\n{command.whole_help(inner)}\n```"]
    return "\n\n".join(parts) + "\n"


def schemas() -> str:
    """A row for each JSON Schema, with the file."""
    lines = [
        "# JSON Schemas",
        "",
        "The forms of `--format json`; [JSON of the commands](../json.md) says what the keys mean.",
        "`absint schema NAME` prints one.",
        "",
        "| document | schema |",
        "|---|---|",
    ]
    for name in names():
        title = json_schema(name).get("title", "")
        lines.append(f"| {title or name} | [{name}.json](schemas/{name}.json) |")
    return "\n".join(lines) + "\n"


def linked(found: re.Match[str], depth: str) -> str:
    """A link to a file of the repository: a page of the site, a file that it offers, or just the name."""
    text, up, path, anchor = found.groups()
    if up == "docs/":
        return f"[{text}]({depth}{path}{anchor or ''})"
    if path in COPIED:
        return f"[{text}]({depth}{COPIED[path]}{anchor or ''})"
    if path in DOWNLOADS:
        return f"[{text}]({depth}files/{path})"
    if (ROOT / path).exists() and not path.startswith("docs/"):
        return text if text == path or "`" in text else f"{text} (`{path}`)"
    return found[0]


def titled(found: re.Match[str], page: str, files: Files) -> str:
    """A link to a page, with its title in the place of its file."""
    path, anchor = found.groups()
    target = files.get_file_from_path(posixpath.normpath(posixpath.join(posixpath.dirname(page), path)))
    title = re.match(r"# (.*)", target.content_string) if target is not None else None
    return found[0] if title is None else f"[{title[1]}]({path}{anchor or ''})"


def inlined(label: str, path: str) -> str:
    """A picture as a part of the page; its own colours, for readers of the file, give way to those of the theme."""
    drawing = STYLE.sub("", (ROOT / "docs" / path).read_text("utf-8")).strip()
    return f'<figure class="picture" role="img" aria-label="{label}">\n{drawing}\n</figure>'
