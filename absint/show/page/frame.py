"""The frame of a page: one HTML file, whose policy allows the scripts and styles that it has and nothing else."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from absint.lattices.text.escapes import Json, in_html, json_text, plain

_SCRIPTS: Final = (
    "dagre.min.js", "evaluate.js", "dom.js", "sizes.js", "nearest.js", "groups.js", "graph.js", "view.js", "details.js",
    "search.js", "charts.js", "memory.js", "region.js", "start.js",
)  # fmt: skip
"""One script, in this order; each uses those before it."""


def written(content: object) -> str:
    """A text of a model as HTML: in one line, escaped."""
    return in_html(plain(str(content)))


def framed(title: str, body: str, data: Json = None) -> str:
    """The file; with `data` it has the scripts that show them."""
    style = asset("page.css")
    script = _script() if data is not None else ""
    allowed = f"script-src '{_hash(script)}'; " if script else ""
    policy = (
        f"default-src 'none'; {allowed}style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    scripts = (
        f"""<script id="data" type="application/json">{json_text(data).replace("<", chr(92) + "u003c")}</script>
<script>{script}</script>
"""
        if script
        else ""
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{written(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
{scripts}</body>
</html>
"""


def hashes() -> tuple[str, str]:
    """What a policy says of the script of a page and of its style, to allow them in a frame."""
    return _hash(_script()), _hash(asset("page.css"))


def _script() -> str:
    return "\n".join(map(asset, _SCRIPTS))


@cache
def asset(name: str) -> str:
    """A file of the page, without links to sources."""
    content = files("absint.show.page").joinpath("assets", name).read_text(encoding="utf-8")
    return "\n".join(line for line in content.splitlines() if not line.startswith("//# sourceMappingURL"))


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
