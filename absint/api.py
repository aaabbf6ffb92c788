"""`analyze`: from a model to a `Result`; `freeze`: from a model to one of fixed sizes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from absint import homes
from absint.errors import UsageError
from absint.lattices.records import NamedTuple
from absint.lattices.shape import Shape
from absint.lattices.unify import SOUND, UnificationPolicy
from absint.model.load import Loaded, ModelLike, load
from absint.program.graph import Program
from absint.program.limits import Progress, Watch
from absint.program.lowered import Call, Lowered
from absint.program.lowering import Lowerer
from absint.program.rules.lookup import Lookup
from absint.result import Result
from absint.shapes.analysis import Trace
from absint.shapes.inputs import read_inputs
from absint.shapes.memo.gc_pause import uncollected
from absint.shapes.policies import policy_of, run_policy
from absint.shapes.refinement import run_rounds
from absint.shapes.sizes import Assumption, Sizes, facts_of, given as given_sizes, listed, read_assumptions
from absint.transfer.families import shipped
from absint.transfer.rule import Table
from absint.transfer.semantics import EITHER, SEMANTICS, Semantics

if TYPE_CHECKING:
    import onnx

    from absint.analyses.exchange import Given
    from absint.jobs.dynamizing.dynamize import Dynamized
    from absint.questions.claims.trust import Trust
    from absint.shapes.timings import Timings

Refine = bool | Literal["smt"]


@uncollected
def analyze(
    model: ModelLike | Loaded,
    *,
    assume: Sequence[Assumption] = (),
    bind: Sizes | None = None,
    table: Table | None = None,
    memoise: bool = True,
    trace: Trace | None = None,
    strict: bool = False,
    refine: Refine = True,
    plugins: bool = True,
    schema_inference: bool = True,
    policy: str | UnificationPolicy = SOUND,
    timings: Timings | None = None,
    defaults: bool = False,
    names_as_declared: bool = False,
    premises: bool = True,
    semantics: Semantics = EITHER,
    max_seconds: float | None = None,
    max_nodes: int | None = None,
    on_progress: Progress | None = None,
    with_: Sequence[Given] = (),
    trust: Trust = (),
) -> Result:
    """Run the shape analysis of a model to its fixpoint.

    `model` is a path, bytes, an `onnx.ModelProto` or an `onnx_ir.Model`. `assume` lists relations over the input
    symbols that every run meets (`"seq % 8 == 0"`); `bind` gives symbols sizes (`{"batch": 4}`) or ranges
    (`{"seq": (1, 2048)}`), and the symbols of an input those of a shape (`{"image": [1, 3, 224, 224]}`). Both
    state the shape of an input that has none in the model: `{"x": ["*s", 64]}`, or `assume=["shape(x) == [*s, 64]"]`.

    `table` replaces the shipped
    transfer rules (`absint.TABLE.extended([...])`). With `strict` an error raises, and so do a false declaration of the
    author and a limit that is reached. `refine` feeds requirements that solve or bound a symbol (`d_model == 64`) back
    as facts of further rounds; `"smt"` also asks Z3 about every choice, broadcast and extreme that is left in dims.

    An operator without a rule gets one that an installed package ships (`plugins`), and else one made from the
    inference function of its onnx schema (`schema_inference`), which is unchecked: `diagnostics` and proofs name it.

    `policy` says which of two dims is shown where a rule has to decide: by default what every run shows, by another
    name of `absint.POLICIES` what a tool of the field would show. An unsound one is run once, without refinement; its
    result makes claims, which nothing may be proved from.

    A dim of an input that is declared by a placeholder (`?`, `None`, `unk`) is an unknown size of its own; with
    `names_as_declared` equal texts are one size.

    An initialiser that is a graph input too may be replaced by a caller, so its value is not used. With `defaults` it
    is: every answer then rests on no caller replacing one.

    A kernel computes the size that an expression states, unless an integer overflows or a float is rounded. With
    `premises` the analysis assumes that neither happens where this is true of all sizes up to 65,536, records the
    assumption, and shows it with every answer that rests on it; without, whatever needs a premise is unknown.

    `semantics` says which runs the answers are about where onnxruntime differs from the documents of ONNX: those of
    `"onnx"`, of `"onnxruntime"`, or of `"either"`, in which a node is illegal only where both reject it.
    docs/runtime-differences.md lists the differences, and `Result.semantics` tells which an answer rests on.

    `timings` (an `absint.Timings()`) collects where the time goes.

    After `max_seconds`, and beyond the first `max_nodes` operators, the analysis stops between two nodes: what was not
    reached is unknown, a diagnostic `limit` says so, and all other claims hold. `on_progress(done, total, phase)` is
    called while nodes are lowered, analysed and refined; if it returns False the analysis stops in the same way, and an
    exception it raises ends the analysis. A single rule application is never interrupted.

    The analyses in `with_`, or in Python files that it names, run together with it, in any order. Each may `ask` the
    others; what they find of elements bounds sizes, decides branches, and shows that nodes do not fail.
    `Result.found_by` has what each found, `Result.diagnostics` what each reports; answers that rest on one name it.

    `trust` takes declared shapes of values as premises where the analysis knows less: `"all"`, `"custom"` for outputs
    of operators without a rule, or names of values and nodes. Every answer then holds of the runs in which they are
    true; `Result.trusted` lists them, and answers that rest on one name it. One that is shown false is refused.

    Raises ModelError if the model cannot be read, UsageError for an assumption that does not parse or names no symbol,
    LimitError if the analysis is stopped before the model is lowered.
    """
    options = Options(
        assume,
        bind,
        table,
        refine,
        plugins,
        schema_inference,
        policy,
        defaults,
        names_as_declared,
        premises,
        semantics,
        with_,
        trust,
    )
    watch = Watch(max_seconds, max_nodes, on_progress)
    result = _analysed(model, options, watch, timings, memoise=memoise, trace=trace)
    if strict:
        wrong = homes.judging.refused(result.diagnostics)
        if wrong:
            others = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise UsageError(f"{wrong[0]}{others}")
    return result


class Options(NamedTuple):
    """The options of `analyze` that decide what an analysis finds: a variant of the model is analysed with them too."""

    assume: Sequence[Assumption]
    bind: Sizes | None
    table: Table | None
    refine: Refine
    plugins: bool
    schema_inference: bool
    policy: str | UnificationPolicy
    defaults: bool
    names_as_declared: bool
    premises: bool
    semantics: Semantics
    with_: Sequence[Given]
    trust: Trust

    def checked(self) -> UnificationPolicy:
        """The policy. Raises UsageError for options that do not fit together."""
        if self.semantics not in SEMANTICS:
            raise UsageError(f"semantics={self.semantics!r}: it is one of {', '.join(map(repr, SEMANTICS))}")
        if self.refine not in (True, False, "smt"):
            raise UsageError(f"refine={self.refine!r}: it is True, False or 'smt'")
        listed(self.assume)
        policy = SOUND
        if self.policy is not SOUND:
            policy = policy_of(self.policy)
        if self.with_ and not policy.sound:
            given = [getattr(one, "label", one) for one in self.with_]
            raise UsageError(f"with_={given} needs the sound policy, found the {policy.label}")
        if self.refine == "smt" and not policy.sound:
            raise UsageError(f"refine='smt' needs the sound policy: claims of the {policy.label} prove nothing")
        return policy


def _analysed(
    model: ModelLike | Loaded,
    options: Options,
    given: Watch,
    timings: Timings | None = None,
    *,
    memoise: bool = True,
    trace: Trace | None = None,
) -> Result:
    policy = options.checked()
    # From a file to nodes: nothing here depends on sizes.
    watch = None if given.is_off else given
    phase = timings.phase if timings is not None else nullcontext
    with phase("load"):
        loaded = load(model)
    table = options.table if options.table is not None else shipped()
    lookup = Lookup(table, plugins=options.plugins, schema_inference=options.schema_inference)
    with phase("lower"):
        lowered = _lower(
            loaded,
            lookup,
            {"defaults": options.defaults, "names_as_declared": options.names_as_declared},
            premises=options.premises,
            semantics=options.semantics,
            watch=watch,
        )
    # Premises come from declarations, but only where an analysis without them knows less.
    if options.trust:
        base = _analysed(loaded, options._replace(with_=(), trust=()), Watch())
        homes.trust.trusting(base, options.trust, lowered)
    # Shapes that the caller states replace those of the inputs; sizes and relations become facts over their symbols.
    bind, assume = options.bind, options.assume
    shapes, relations = _stated_shapes(lowered, bind, assume) if bind or assume else ({}, assume)
    inputs = read_inputs(lowered, shapes)
    symbols = tuple(inputs.parameters)
    assumptions = read_assumptions(relations, inputs)
    if bind:
        assumptions += given_sizes(bind, inputs).relations(inputs)
    facts = facts_of(assumptions, inputs.premises)
    for node, value in inputs.values.items():
        lowered.program.nodes.replace_value(node, value)
    with phase("rounds"):
        cooperation = None
        if options.with_:
            cooperation, facts = homes.advising.begun(lowered, facts, options.with_)
        if policy.sound:
            rounds = run_rounds(
                lowered,
                facts,
                symbols,
                memoise=memoise,
                trace=trace,
                refine=bool(options.refine),
                timings=timings,
                advice=None if cooperation is None else cooperation.advice,
            )
        else:
            rounds = run_policy(lowered, facts, policy, memoise=memoise, trace=trace)
    # What is asked for, or rarely of use, runs on the finished rounds and gives a further one.
    result = Result(loaded, lowered, inputs, rounds, assumptions)
    result.cooperation = cooperation
    if not rounds.conflict and not given.reached:
        if options.refine == "smt":
            result = result.continued(homes.smt_refinement.settle(result))
        if rounds.has_sums:
            advice = None if cooperation is None else cooperation.advice
            result = result.continued(homes.relations.added_up(lowered, result.last, advice))
    # Questions analyse variants of the model in the same way.
    kept = {name: size for name, size in (bind or {}).items() if name in shapes}
    result.analyze = partial(_variant, options=options, shapes=kept)
    result.reanalyse = partial(_under, loaded, options)
    if options.trust:
        homes.trust.check_trust(result)
    return result


def _lower(
    loaded: Loaded,
    lookup: Lookup,
    reading: Mapping[str, bool],
    *,
    premises: bool = True,
    semantics: Semantics = EITHER,
    watch: Watch | None = None,
) -> Lowered:
    """Lower a model, so that `Lowered.lower` lowers others in the same way, without its limits. `reading` says how
    inputs are read: `defaults` and `names_as_declared` of `absint.analyze`.

    Raises ModelError as `Lowerer.run` does.
    """
    program = Program(premises=premises, semantics=semantics)
    lowered = Lowerer(loaded, lookup, _control, program, reading, watch=watch).run()
    lowered.lower = partial(_lower, lookup=lookup, reading=reading, premises=premises, semantics=semantics)
    return lowered


def _control(lowerer: Lowerer, call: Call) -> None:
    homes.lowering_control.lower_control(lowerer, call)  # few models need it


@uncollected
def _variant(loaded: Loaded, sizes: Mapping[str, int], *, options: Options, shapes: Sizes) -> Result:
    """A variant of a model, analysed as the model was."""
    loaded.check_unchanged()
    return _analysed(loaded, options._replace(bind={**shapes, **sizes}, policy=SOUND), Watch())


def _under(loaded: Loaded, options: Options, **changed: object) -> Result:
    """The model, analysed as it was but for these options."""
    loaded.check_unchanged()
    return _analysed(loaded, options._replace(**cast("dict[str, Any]", changed)), Watch())


def _stated_shapes(
    lowered: Lowered, bind: Sizes | None, assume: Sequence[Assumption]
) -> tuple[dict[str, Shape], Sequence[Assumption]]:
    """The shapes that sizes and assumptions state of inputs without one, and the other assumptions."""
    shapes, others = homes.input_shapes.split_assumptions(assume, lowered)
    for name, shape in homes.input_shapes.bound_shapes(bind or {}, lowered).items():
        if shapes.setdefault(name, shape) is not shape:
            raise UsageError(f"input {name!r} is stated to have shape {shapes[name]}, and to have shape {shape}")
    return shapes, others


def dynamize(
    model: ModelLike | Loaded,
    axes: Mapping[str, Mapping[int, str]],
    path: str | os.PathLike[str] | None = None,
    *,
    fix: bool = False,
) -> Dynamized:
    """`analyze(model).dynamize(axes, path, fix=fix)`: see `Result.dynamize`."""
    return analyze(model).dynamize(axes, path, fix=fix)


def freeze(model: ModelLike | Loaded, sizes: Sizes, *, assume: Sequence[Assumption] = ()) -> onnx.ModelProto:
    """A copy of a model at these sizes of its input symbols, with all folded that they decide.

    It is the `model` of `Result.freeze`, which says more of it and writes files. Raises as `analyze` and that do:
    IllegalSizesError if the model cannot run at these sizes.
    """
    frozen = analyze(model, assume=assume).freeze(sizes)
    assert frozen.model is not None
    return frozen.model
