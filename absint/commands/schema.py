"""`absint schema`."""

import json

import click

from absint.commands.command import FINE, Command
from absint.show.schemas import json_schema, names


@click.command(cls=Command)
@click.argument("name", required=False)
def schema(name: str | None) -> int:
    """Print the JSON Schema of a document that commands print.

    NAME is the middle of the document's key "schema": analyze, for absint.analyze/2. Without a NAME, all are listed.
    """
    if name is None:
        for known in names():
            click.echo(known)
    else:
        click.echo(json.dumps(json_schema(name), indent=1))
    return FINE
