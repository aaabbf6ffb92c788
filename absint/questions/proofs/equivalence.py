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
from absint.solver.prove import Partition, Prover, Stopwatch, partition


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
    prover = prover_of(analysed, limits)
    terms: dict[Expr, list[AxisPlace]] = {}
    for name, tensor in _tensors(analysed):
        for axis, dim in enumerate(tensor.shape.dims):
            if isinstance(dim, Expr):
                terms.setdefault(dim, []).append(AxisPlace(name, axis))
    return _equalities(analysed, "dims", terms, prover, str)


def equal_shapes(analysed: Analysed, limits: Limits) -> Equalities[str]:
    """Values of the main graph by proved equality of their shapes."""
    analysed.require_sound("a class of equal shapes")
    prover = prover_of(analysed, limits)
    watch = Stopwatch()
    dims = dict.fromkeys(d for _, tensor in _tensors(analysed) for d in tensor.shape.dims if isinstance(d, Expr))
    with within(prover.limits.seconds):
        found = partition(dims, prover)
    representative = {term: members[0] for members in found.classes for term in members}
    shapes: dict[tuple[Expr, ...], list[str]] = {}
    for name, tensor in _tensors(analysed):
        if all(isinstance(d, Expr) for d in tensor.shape.dims):
            shapes.setdefault(tuple(representative[d] for d in tensor.shape.dims if isinstance(d, Expr)), []).append(
                name
            )

    texts = names_of(analysed)

    def shown(shape: Sequence[Expr]) -> str:
        return brief(Shape([_shown(analysed, dim) for dim in shape]), texts)

    def distinct() -> Iterator[Distinct]:
        for a, b in combinations(shapes, 2):
            if len(a) == len(b):
                pair = next(((x, y) for x, y in zip(a, b, strict=True) if x is not y), None)
                if pair is not None:
                    yield Distinct(shown(a), shown(b), _apart(analysed, found, prover, *pair))

    return _answered(analysed, "shapes", shapes.items(), shown, distinct, found, watch, texts)


def equal_buffers(analysed: Analysed, limits: Limits) -> Equalities[str]:
    """Values of the main graph by proved equality of their size in bytes: those that can share a buffer."""
    analysed.require_sound("a class of equal buffers")
    prover = prover_of(analysed, limits)
    terms: dict[Expr, list[str]] = {}
    for name, tensor in _tensors(analysed):
        width = tensor.dtype.bits
        size = tensor.shape.size if all(isinstance(d, Expr) for d in tensor.shape.dims) else None
        if width and isinstance(size, Expr):
            total = (size * width + 7) // 8
            if isinstance(total, Expr):
                terms.setdefault(total, []).append(name)
    return _equalities(analysed, "buffers", terms, prover, lambda text: f"{text} bytes")


def _tensors(analysed: Analysed) -> Iterator[tuple[str, Tensor]]:
    for name, operand in analysed.operands.items():
        value = value_in(analysed.states, operand)
        if isinstance(value, Tensor) and value.shape.rank is not None:
            yield name, value


def _equalities(
    analysed: Analysed, what: What, terms: Mapping[Expr, Sequence[Member]], prover: Prover, shown: Callable[[str], str]
) -> Equalities[Member]:
    watch = Stopwatch()
    with within(prover.limits.seconds):
        found = partition(terms, prover)
    texts = names_of(analysed)

    def text(term: Expr) -> str:
        return shown(texts.dim(_shown(analysed, term)))

    def distinct() -> Iterator[Distinct]:
        for a, b in combinations([members[0] for members in found.classes], 2):
            yield Distinct(text(a), text(b), _apart(analysed, found, prover, a, b))

    groups = ((members[0], [m for term in members for m in terms[term]]) for members in found.classes)
    return _answered(analysed, what, groups, text, distinct, found, watch, texts)


def _answered(
    analysed: Analysed,
    what: What,
    groups: Iterable[tuple[Term, Sequence[Member]]],
    text: Callable[[Term], str],
    distinct: Callable[[], Iterator[Distinct]],
    found: Partition,
    watch: Stopwatch,
    texts: Names,
) -> Equalities[Member]:
    """The groups as classes, the largest first; `text` writes what the members of each have in common."""
    ordered = sorted(groups, key=lambda item: -len(item[1]))
    with within(TEXT_SECONDS):
        classes = tuple(Class(_or_name(partial(text, term), names), tuple(names)) for term, names in ordered)
    head, premises = about(analysed), partial(all_premises, analysed)
    undecided = len(found.undecided)
    return Equalities(classes, distinct, undecided, watch.seconds, found.reason, what, head, premises, texts)


def _or_name(text: Callable[[], str], members: Sequence[object]) -> str:
    """The text, or the first member once the time for texts is over."""
    try:
        on_time()
        return text()
    except DeadlineError:
        return str(members[0])


def _apart(analysed: Analysed, found: Partition, prover: Prover, a: Expr, b: Expr) -> Mapping[str, int] | None:
    """Sizes at which two expressions differ."""
    binding = found.counterexample(a, b)
    if binding is None:
        return None
    wanted = {s.name for s in (*a.symbols, *b.symbols)}
    names = {s.name: str(d) for s, d in all_names(analysed).items()}
    return {names.get(name, name): size for name, size in binding.items() if name in wanted}


def _shown(analysed: Analysed, dim: Expr) -> Dim:
    return substitute(dim, all_names(analysed))
