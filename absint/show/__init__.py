"""The output of the commands. Nothing below imports it, and a command imports it when it prints.

schemas        the JSON Schemas of all documents
summary        rows and totals of an analysis, and histories of values; text and document render them
study          the table of a study, and the list of policies
contracts      the contract of a model, and its constraints for other tools
analyses       answers of devices and ranges
audit, certificates, classes, costs, dynamizing, feeds, freezing, lint, rows, rules, simplifying
               answers of the other commands
page/          an HTML file about a result
site/          a page that runs absint in the browser
"""

from typing import TYPE_CHECKING

from absint.packages import lazily

if TYPE_CHECKING:
    from absint.show import analyses, certificates, classes, costs, dynamizing, feeds, freezing, rows

_NAMES = "analyses certificates classes costs dynamizing feeds freezing rows"
__getattr__ = lazily(globals(), dict.fromkeys(_NAMES.split(), "absint.show"))
"""A command of several imports what it prints with."""
