"""Dims, shapes and buffers of a model in classes that are proved equal, for memory planners and fusion passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

from absint.lattices.limits import DeadlineError, Limits, on_time, within
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.normal import substitute
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.forms import NUMERAL, Key, Object, keys_of, kind_of, many
from absint.lattices.text.naming import Names, Naming
from absint.lattices.value import Tensor
from absint.questions.proofs.proof import prover as prover_of
from absint.questions.proofs.requirements import all_premises
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names
from absint.solution.described import brief
from absint.solution.naming import about, names_of
from absint.solver.constraints import CONSTRAINT, Constraint
from absint.solver.prove import Stopwatch, partition


class AxisPlace(NamedTuple):
    """An axis of a value of the main graph."""

    value: str
    axis: int

    def __str__(self) -> str:
        return f"{self.value}[{self.axis}]"


Member = TypeVar("Member")
Term = TypeVar("Term")
What = Literal["dims", "shapes", "buffers"]

TEXT_SECONDS: Final = 1.0
"""Seconds for printing the expressions of the classes; after that a class is named after its first member."""


class Class(NamedTuple, Generic[Member]):
    """Members that are equal in every run that succeeds, and their common expression."""

    what: str
    """An expression, or the first member if printing it would take too long."""
    members: tuple[Member, ...]


class Distinct(NamedTuple):
    """Two classes, with sizes at which they differ, or None if no such sizes are known."""

    first: str
    second: str
    counterexample: Mapping[str, int] | None


_NOBODY: Final = Head()


@dataclass(frozen=True)
class Equalities(Generic[Member]):
    """Classes of what is proved equal, the largest first."""

    classes: tuple[Class[Member], ...]
    """Every member is in one class."""
    distinct: Callable[[], Iterator[Distinct]]
    """Pairs of classes with a counterexample to their equality; computed by this call."""
    undecided: int = 0
    """Pairs that were not decided within the budget, and so are kept apart."""
    seconds: float = 0.0
    """Time of the answer."""
    reason: str = ""
    """The reason why some terms were not compared, if any: these are in classes of their own."""

    what: What = "dims"
    """What is compared."""
    head: Head = _NOBODY
    """The model, what the caller has given, and the runs that this is about."""
    premises: Callable[[], Sequence[Constraint]] = tuple
    """The numeric premises that it rests on."""
    texts: Names = field(default_factory=lambda: Names(Naming()), repr=False, compare=False)
    """The names of long expressions in the classes."""

    @property
    def definitions(self) -> Mapping[str, str]:
        """The names of long expressions in the classes, and what they stand for."""
        return self.texts.definitions

    def __iter__(self) -> Iterator[Class[Member]]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        open_ = f", {self.undecided:,} pairs undecided" if self.undecided else ""
        return f"<Equalities: {sum(len(c.members) for c in self.classes):,} in {len(self.classes):,} classes{open_}>"

    def to_json(self, *, model: str = "", distinct: Iterable[Distinct] | None = None) -> str:
        """As a JSON object, schema `absint.classes/2`, with these pairs of classes if there are any.

        It is about the model of that name, or of its own.
        """
        head = self.head._replace(model=model) if model else self.head
        return CLASSES.text(_Answer(self, distinct), self.texts, head)


class _Answer(NamedTuple):
    found: Equalities[Any]
    distinct: Iterable[Distinct] | None


_CLASS: Final = Object[Class[Any]](
    Key("what", NUMERAL, "the size, shape or number of bytes, or a member if that is too long to print"),
    Key("members", many(str), "what has it"),
)
CLASSES: Final = Document[_Answer](
    "classes",
    2,
    "what is always equal (absint equal)",
    Key("what", kind_of(What), of=lambda answer: answer.found.what),
    Key("classes", many(_CLASS), of=lambda answer: answer.found.classes),
    Key("reason", str, "the limit that was reached", lambda answer: answer.found.reason),
    Key("undecided", int, "pairs kept apart because they were not decided", lambda answer: answer.found.undecided),
    Key("assuming", many(CONSTRAINT), "numeric premises", lambda answer: answer.found.premises()),
    Key(
        "distinct",
        many(Object[Distinct](*keys_of(Distinct, counterexample="sizes where they differ; null if none are known"))),
        "with `--distinct`: pairs of classes",
        lambda answer: answer.distinct or (),
        lambda answer: answer.distinct is not None,
    ),
)


def equal_dims(analysed: Analysed, limits: Limits) -> Equalities[AxisPlace]:
    """Every axis of every value of the main graph whose size has an expression, by proved equality."""
    analysed.require_sound("a class of equal dims")
    terms: dict[Expr, list[AxisPlace]] = {}
    for name, tensor in _tensors(analysed):
        for axis, dim in enumerate(tensor.shape.dims):
            if isinstance(dim, Expr):
                terms.setdefault(dim, []).append(AxisPlace(name, axis))
    return _Compared(analysed, terms, limits).of_terms("dims", terms, str)


def equal_shapes(analysed: Analysed, limits: Limits) -> Equalities[str]:
    """Values of the main graph by proved equality of their shapes."""
    analysed.require_sound("a class of equal shapes")
    dims = dict.fromkeys(d for _, tensor in _tensors(analysed) for d in tensor.shape.dims if isinstance(d, Expr))
    compared = _Compared(analysed, dims, limits)
    representative = {term: members[0] for members in compared.found.classes for term in members}
    shapes: dict[tuple[Expr, ...], list[str]] = {}
    for name, tensor in _tensors(analysed):
        known = tuple(representative[d] for d in tensor.shape.dims if isinstance(d, Expr))
        if len(known) == tensor.shape.rank:
            shapes.setdefault(known, []).append(name)

    def shown(shape: Sequence[Expr]) -> str:
        return brief(Shape(list(map(compared.shown, shape))), compared.texts)

    def distinct() -> Iterator[Distinct]:
        for a, b in combinations(shapes, 2):
            pair = next(((x, y) for x, y in zip(a, b, strict=True) if x is not y), None) if len(a) == len(b) else None
            if pair is not None:
                yield Distinct(shown(a), shown(b), compared.apart(*pair))

    return compared.answer("shapes", shapes.items(), shown, distinct)


def equal_buffers(analysed: Analysed, limits: Limits) -> Equalities[str]:
    """Values of the main graph by proved equality of their size in bytes: those that can share a buffer."""
    analysed.require_sound("a class of equal buffers")
    terms: dict[Expr, list[str]] = {}
    for name, tensor in _tensors(analysed):
        width = tensor.dtype.bits
        size = tensor.shape.size if all(isinstance(d, Expr) for d in tensor.shape.dims) else None
        if width and isinstance(size, Expr):
            total = (size * width + 7) // 8
            if isinstance(total, Expr):
                terms.setdefault(total, []).append(name)
    return _Compared(analysed, terms, limits).of_terms("buffers", terms, lambda text: f"{text} bytes")


def _tensors(analysed: Analysed) -> Iterator[tuple[str, Tensor]]:
    for name, operand in analysed.operands.items():
        value = value_in(analysed.states, operand)
        if isinstance(value, Tensor) and value.shape.rank is not None:
            yield name, value


class _Compared:
    """Terms of an analysis in classes of proved equality."""

    def __init__(self, analysed: Analysed, terms: Iterable[Expr], limits: Limits) -> None:
        self._analysed = analysed
        prover = prover_of(analysed, limits)
        self._watch = Stopwatch()
        with within(prover.limits.seconds):
            self.found = partition(terms, prover)
        self.texts = names_of(analysed)

    def shown(self, term: Expr) -> Dim:
        return substitute(term, all_names(self._analysed))

    def apart(self, a: Expr, b: Expr) -> Mapping[str, int] | None:
        """Sizes at which two terms differ."""
        binding = self.found.counterexample(a, b)
        if binding is None:
            return None
        wanted = {s.name for s in (*a.symbols, *b.symbols)}
        names = {s.name: str(d) for s, d in all_names(self._analysed).items()}
        return {names.get(name, name): size for name, size in binding.items() if name in wanted}

    def of_terms(
        self, what: What, terms: Mapping[Expr, Sequence[Member]], written: Callable[[str], str]
    ) -> Equalities[Member]:
        """The members of equal terms together; `written` makes the text of a class of that of its term."""

        def text(term: Expr) -> str:
            return written(self.texts.dim(self.shown(term)))

        def distinct() -> Iterator[Distinct]:
            for a, b in combinations([members[0] for members in self.found.classes], 2):
                yield Distinct(text(a), text(b), self.apart(a, b))

        groups = ((members[0], [m for term in members for m in terms[term]]) for members in self.found.classes)
        return self.answer(what, groups, text, distinct)

    def answer(
        self,
        what: What,
        groups: Iterable[tuple[Term, Sequence[Member]]],
        text: Callable[[Term], str],
        distinct: Callable[[], Iterator[Distinct]],
    ) -> Equalities[Member]:
        """The groups as classes, the largest first; `text` writes what the members of each have in common."""
        ordered = sorted(groups, key=lambda item: -len(item[1]))
        with within(TEXT_SECONDS):
            classes = tuple(Class(_or_name(partial(text, term), names), tuple(names)) for term, names in ordered)
        return Equalities(
            classes,
            distinct,
            len(self.found.undecided),
            self._watch.seconds,
            self.found.reason,
            what,
            about(self._analysed),
            partial(all_premises, self._analysed),
            self.texts,
        )


def _or_name(text: Callable[[], str], members: Sequence[object]) -> str:
    """The text, or the first member once the time for texts is over."""
    try:
        on_time()
        return text()
    except DeadlineError:
        return str(members[0])
