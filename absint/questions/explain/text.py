"""An explanation as text, in which runs of nodes that pass a number on are folded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from textwrap import wrap
from typing import Final

from absint.lattices.contents import Element, element_symbols
from absint.lattices.records import changed
from absint.lattices.terms.expr import MAX_DIM
from absint.lattices.text.escapes import plain
from absint.lattices.text.naming import Names
from absint.questions.explain.derived import Derived, Number, Source, Stated, Step
from absint.solution.described import described

Mentioned = Number | Step | str
"""A value, a node, or the name of a node that states something."""

Mention = Callable[[str, Mentioned], str]
"""Writes the text of a mention, as a link for example."""

MAX_ENTRIES: Final = 200
"""Entries of a text; its last line counts those left out."""

MAX_TEXT: Final = 200
"""Characters of a dim or relation in a text."""

_MAX_SIZE: Final = 2_000
"""Most operations and operands of a formula that is printed."""
_MAX_STATED: Final = 5
_MAX_SOURCES: Final = 12
_MAX_NAMED: Final = 4
"""Most nodes of a folded run that are all named."""
_WIDTH: Final = 160
_LONG: Final = 60
"""A longer number is printed in its own entry only."""


@dataclass
class _Entry:
    """One paragraph: a number that a node computes, or one that a run of nodes passes on."""

    steps: list[Step] = field(default_factory=list)
    number: int = 0

    @property
    def head(self) -> Step:
        """The last of its steps in execution order."""
        return self.steps[0]


class _Text:
    def __init__(self, explanation: Derived, mention: Mention) -> None:
        self.explanation = explanation
        self.mention = mention
        self.steps = explanation.steps
        self.said: set[str] = set()
        self.where = Names(explanation.naming)
        self._texts: dict[Element, str] = {}
        self.leaf_of: dict[int, Step] = {}
        """Constants that come unchanged from a constant of the model -> that constant."""
        self.entries, self.entry_of = self._entries()
        for number, entry in enumerate(self.entries[:MAX_ENTRIES], 1):
            entry.number = number

    def _entries(self) -> tuple[list[_Entry], dict[int, _Entry]]:
        """Steps that pass a number on to each other are one entry; a number that a mention explains fully has none."""
        parent = list(range(len(self.steps)))

        def root(at: int) -> int:
            while parent[at] != at:
                parent[at] = parent[parent[at]]
                at = parent[at]
            return at

        for step in self.steps:
            for source in step.sources if step.kind == "unchanged" else ():
                if source.step is not None and self.steps[source.step].kind == "unchanged":
                    parent[root(source.step)] = root(step.id)
        entries: dict[int, _Entry] = {}
        asked = set(self.explanation.claims)
        for step in self.steps:
            if step.id in asked or (step.followed and not _is_plain_leaf(step)):
                entries.setdefault(root(step.id), _Entry()).steps.append(step)
        told = [entry for entry in entries.values() if not self._is_short(entry, asked)]
        for entry in told:
            entry.steps.sort(key=lambda step: (-step.node, step.id))
        order = sorted(told, key=lambda entry: (-entry.head.node, entry.head.id))
        return order, {step.id: entry for entry in order for step in entry.steps}

    def _is_short(self, entry: _Entry, asked: set[int]) -> bool:
        """It is a run that begins with one constant of the model, which fits into a mention."""
        inside = {step.id for step in entry.steps}
        if not inside.isdisjoint(asked) or any(s.kind != "unchanged" or s.requires or s.facts for s in entry.steps):
            return False
        begins = {source.step for step in entry.steps for source in step.sources} - inside
        first = begins.pop() if begins else None
        if first is None or begins or self.steps[first].kind == "input" or not _is_plain_leaf(self.steps[first]):
            return False
        self.leaf_of.update((at, self.steps[first]) for at in inside)
        return True

    def lines(self) -> Iterator[str]:
        """The whole text."""
        explanation = self.explanation
        where = f"  (in {plain(explanation.path)})" if explanation.path else ""
        label = f"  ({explanation.label})" if explanation.label else ""
        yield f"{plain(explanation.value)}: {_cut(plain(described(explanation.shown, self.where)))}{where}{label}"
        if explanation.note:
            yield from wrap(f"  {plain(explanation.note)}", _WIDTH, subsequent_indent="  ", break_long_words=False)
        for claim in explanation.claims:
            entry = self.entry_of[claim]
            asked = changed(self.steps[claim].at, value=explanation.value, path="")
            yield f"  {self._numbered(asked)}  {f'[{entry.number}]' if entry.number else '(left out)'}"
        for entry in self.entries[:MAX_ENTRIES]:
            yield ""
            yield from self._entry(entry)
        more = len(self.entries) - MAX_ENTRIES
        if more > 0 or explanation.left_out:
            yield ""
            found = [f"{more:,} more numbers"] if more > 0 else []
            found += [f"{explanation.left_out:,} not followed"] if explanation.left_out else []
            yield f"left out: {' and '.join(found)}"
        definitions = self.where.definitions
        if definitions:
            yield ""
            yield "where"
            for name, text in definitions.items():
                yield from wrap(f"  {name} = {plain(text)}", _WIDTH, subsequent_indent=" " * 6, break_long_words=False)

    def _entry(self, entry: _Entry) -> Iterator[str]:
        head = entry.head
        yield f"[{entry.number}] {self._numbered(head.at)}"
        yield f"    {self._run(entry.steps) if head.kind == 'unchanged' else self._does(head)}{self._formula(head)}"
        yield from self._sources(entry)
        if head.kind == "invented":
            yield from _bounds(head)
        yield from self._stated(entry)

    def _formula(self, step: Step) -> str:
        if step.formula is None:
            return ""
        size = getattr(step.formula, "size", 1)
        return f": <{size:,} terms>" if size > _MAX_SIZE else f": {_cut(plain(str(step.formula)))}"

    def _sources(self, entry: _Entry) -> Iterator[str]:
        """Expressions first, then the constants that they are computed with."""
        inside = {step.id for step in entry.steps}
        found: dict[object, Source] = {}
        for step in entry.steps:
            for source in step.sources:
                if source.step is None or source.step not in inside:
                    role = source.role if step.kind == "control" else ""
                    key = (role, source.step if source.step is not None else source.at)
                    found.setdefault(key, source)
        same: list[Source] = []
        told: list[Source] = []
        constants: list[Source] = []
        for source in found.values():
            if source.step is not None and not self.steps[source.step].followed:
                same.append(source)
            else:
                (told if self._is_told(source, entry) else constants).append(source)
        word = "bounded by" if entry.head.kind == "invented" else "from"
        yield from _listed(word, [self._source(source, entry) for source in told])
        yield from _listed("with" if told else word, list(self._grouped(constants, entry.head.kind == "unchanged")))
        if same:
            names = ", ".join(f"{self._where(s.at)} ({plain(s.by)})" for s in same[:2])
            more = f", and {len(same) - 2:,} more" if len(same) > 2 else ""
            yield f"    others with the same number: {names}{more}"

    def _is_told(self, source: Source, entry: _Entry) -> bool:
        """It is more than a self-explanatory constant."""
        if entry.head.kind == "control" or source.step in self.entry_of or element_symbols(source.at.number):
            return True
        return source.step is not None and self.steps[source.step].kind == "input"

    def _source(self, source: Source, entry: _Entry) -> str:
        head = entry.head
        role = f"{source.role}: " if head.kind == "control" else ""
        if source.variable:
            role = f"{source.variable} = "
        target = self.entry_of.get(source.step) if source.step is not None else None
        told = target is not None and target.number and len(self._number(source.at.number)) > _LONG
        return f"{role}{self._where(source.at) if told else self._numbered(source.at)}{self._reference(source, entry)}"

    def _reference(self, source: Source, entry: _Entry) -> str:
        """The entry of a source; its origin if it has none."""
        target = self.entry_of.get(source.step) if source.step is not None else None
        if target is None:
            return f" ({self._origin(source)})"
        if not target.number:
            return " (left out)"
        return f" [{target.number}{', above' if target.number <= entry.number else ''}]"

    def _origin(self, source: Source) -> str:
        """The origin of a number without an entry."""
        leaf = self.leaf_of.get(source.step) if source.step is not None else None
        if leaf is not None:
            return self._where(leaf.at) if leaf.kind == "initialiser" else "constant"
        return "constant" if source.by == "Constant" else plain(source.by)

    def _grouped(self, constants: Sequence[Source], named: bool) -> Iterator[str]:
        """Numbers of one value together: `W[2, 3] = 3, 3 (initialiser)`, `starts = 0` (unless by the value's name)."""
        groups: dict[tuple[str, str, str, str], list[Source]] = {}
        for source in constants:
            key = (source.at.full_name, source.role, source.at.place.kind, self._origin(source))
            groups.setdefault(key, []).append(source)
        for (name, role, kind, by), group in groups.items():
            first = group[0].at
            shown = group[:_MAX_SOURCES]
            numbers = ", ".join(self._number(source.at.number) for source in shown)
            numbers += f", and {len(group) - len(shown):,} more" if len(group) > len(shown) else ""
            places = ", ".join(str(source.at.place.at) for source in shown)
            if kind == "length" or first.place.around:
                yield f"{self._numbered(first)} ({by})"
            elif kind == "axis":
                yield f"{self.mention(f'{plain(name)}[{places}]', first)} = {numbers} ({by})"
            elif named or not role or group[0].step in self.leaf_of or by not in ("constant", "initialiser"):
                where = plain(first.where) if len(group) == 1 else f"{plain(name)} elements {places}"
                yield f"{self.mention(where, first)} = {numbers} ({by})"
            else:
                yield f"{role} = {numbers}" if prod(first.sizes or ()) == 1 else f"{role}[{places}] = {numbers}"

    def _numbered(self, at: Number) -> str:
        return f"{self._where(at)} = {self._number(at.number)}"

    def _where(self, at: Number) -> str:
        return self.mention(plain(at.where), at)

    def _number(self, number: Element) -> str:
        """A number or relation in at most about MAX_TEXT characters."""
        found = self._texts.get(number)
        if found is None:
            found = self._texts[number] = _cut(plain(self.where.element(number)))
        return found

    def _stated(self, entry: _Entry) -> Iterator[str]:
        """Facts, definitions and requirements, the simplest first, with their origins; runs repeat no other entry."""
        lines: dict[tuple[int, str], list[Stated]] = {}
        for step in entry.steps:
            for stated in (*step.facts, *step.defined):
                lines.setdefault((0, f"known: {self._number(stated.relation)}"), []).append(stated)
            for stated in step.requires:
                rank, verb = (1, "requires") if stated.role == "required" else (2, "assumes")
                lines.setdefault((rank, f"{verb} {self._number(stated.relation)}"), []).append(stated)
        known = self.said if entry.head.kind == "unchanged" else ()
        fresh = sorted((key for key in lines if key[1] not in known), key=lambda key: (key[0], len(key[1]), key[1]))
        for key in fresh[:_MAX_STATED]:
            self.said.add(key[1])
            yield f"    {key[1]}  ({self._reason(lines[key])})"
        if len(fresh) > _MAX_STATED:
            yield f"    and {len(fresh) - _MAX_STATED:,} more"

    def _run(self, steps: Sequence[Step]) -> str:
        labels = [self.mention(label, step) for label, step in {plain(step.label): step for step in steps}.items()]
        if len(labels) == 1:
            return f"unchanged through {labels[0]}"
        if len(labels) <= _MAX_NAMED:
            return f"unchanged through {len(labels)} nodes: {', '.join(labels)}"
        return f"unchanged through {len(labels):,} nodes: {labels[0]}, {labels[1]}, ..., {labels[-1]}"

    def _does(self, step: Step) -> str:
        label = self.mention(plain(step.label), step)
        if step.attributes:
            label += f" ({_cut(', '.join(f'{name}={value}' for name, value in step.attributes))})"
        match step.kind:
            case "input":
                known = f", {step.does}" if step.does else ""
                return f"{'a dim' if step.at.place.kind == 'axis' else 'data'} of an input{known}"
            case "initialiser":
                return "an initialiser"
            case "fixed":
                return f"fixed by {label}"
            case "control":
                return f"{label}: {step.does}"
            case "invented":
                return f"born at {label}: {step.does}"
            case _:
                return f"computed by {label}"

    def _reason(self, stated: Sequence[Stated]) -> str:
        """The origin of a statement and its reason; of several nodes the last one."""
        nodes = list(dict.fromkeys(s.node for s in stated if s.node))
        more = f", and {len(nodes) - 1:,} more" if len(nodes) > 1 else ""
        where = f"{self.mention(plain(nodes[0]), nodes[0])}: " if nodes else ""
        return f"{where}{_cut(plain(stated[0].reason))}{more}"


def text(explanation: Derived, mention: Mention = lambda text, _: text) -> Iterator[str]:
    """The lines of an explanation. `mention` writes each value and node that is named."""
    return _Text(explanation, mention).lines()


def _is_plain_leaf(step: Step) -> bool:
    """A mention says all there is to say of it."""
    says_more = step.sources or step.facts or step.defined or any(r.role == "assumed" for r in step.requires)
    return not says_more and step.kind in ("initialiser", "fixed", "input")


def _listed(word: str, parts: Sequence[str]) -> Iterator[str]:
    """One line if it is short, else a line for each part."""
    shown = list(parts[:_MAX_SOURCES])
    if len(parts) > _MAX_SOURCES:
        shown.append(f"and {len(parts) - _MAX_SOURCES:,} more")
    if not shown:
        return
    if len(shown) == 1 or sum(map(len, shown)) <= _WIDTH:
        yield f"    {word} {', '.join(shown)}"
    else:
        yield f"    {word}"
        yield from (f"      {part}" for part in shown)


def _bounds(step: Step) -> Iterator[str]:
    bounds = getattr(step.at.number, "bounds", None)
    if bounds is not None and bounds.lo is not None and bounds.lo == bounds.hi:
        return
    if bounds is not None and (bounds.lo, bounds.hi) != (None, None):
        low = f"at least {bounds.lo:,}" if bounds.lo else ""
        high = f"at most {bounds.hi:,}" if bounds.hi is not None and bounds.hi < MAX_DIM else ""
        if low or high:
            yield f"    {' and '.join(part for part in (low, high) if part)}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]} ..."
