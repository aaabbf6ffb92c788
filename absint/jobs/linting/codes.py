"""The rules as data: code, name, severity, and the text of `absint lint --explain CODE` and docs/lint.md.

A code keeps its meaning. ABS0 is about files, ABS1 about models that cannot run, ABS2 about declarations, ABS3 about
the contract, ABS4 about limits of the analysis, ABS5 about the form of a model.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from absint.diagnostics import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class LintRule(NamedTuple):
    """One kind of finding."""

    code: str
    name: str
    severity: Severity
    summary: str
    """One sentence."""
    why: str
    """The harm, and the way to mend it."""
    others: tuple[str, str] = ("node", "nodes")
    """The word for a further place of a finding, and for several."""


RULES: Final = {
    rule.code: rule
    for rule in (
        LintRule(
            "ABS001", "unreadable", ERROR,
            "The file is no model that can be read.",
            "A truncated or damaged file, a file of another format, an operator set that nobody knows. Export the "
            "model again, or exclude the file.",
        ),
        LintRule(
            "ABS002", "process-died", ERROR,
            "The process that checked the model died, or reached its limit of memory.",
            "Nothing is known of the model. --memory allows more memory.",
        ),
        LintRule(
            "ABS003", "timed-out", WARNING,
            "The model was not checked within the time limit.",
            "--seconds allows more time for each model.",
        ),
        LintRule(
            "ABS004", "incomplete", WARNING,
            "Part of the model was not analysed: a limit was reached.",
            "Findings in the rest may be missing. The message names the limit.",
        ),
        LintRule(
            "ABS005", "internal-error", WARNING,
            "The check of the model ended in an error of absint.",
            "Nothing is known of the model. Please report the error with the model.",
        ),
        LintRule(
            "ABS006", "missing-weights", ERROR,
            "A file of external data is missing, too short for the tensors that the model expects in it, or a pointer "
            "of Git LFS.",
            "Runtimes refuse the model. Ship the file of weights beside the model, or save the model in one file.",
            ("tensor", "tensors"),
        ),
        LintRule(
            "ABS101", "cannot-run", ERROR,
            "A node fails at all sizes of the inputs, or the requirements of several nodes exclude each other.",
            "The model never computes its outputs. The message names the requirement; `absint explain` shows where a "
            "size comes from.",
        ),
        LintRule(
            "ABS102", "ill-typed", ERROR,
            "A node gets element types that its operator does not take.",
            "Runtimes refuse to load the model, also where no run reaches the node. Insert a Cast, or correct the "
            "export.",
        ),
        LintRule(
            "ABS103", "ill-formed", ERROR,
            "A node breaks a rule of its operator that does not depend on sizes: a missing attribute, a wrong rank, a "
            "value that is not allowed.",
            "Runtimes refuse to load the model.",
        ),
        LintRule(
            "ABS104", "broken-graph", ERROR,
            "The graph is no graph: a value that nobody computes, one that is computed twice, a body that does not "
            "fit its node.",
            "Runtimes refuse to load the model.",
        ),
        LintRule(
            "ABS105", "defaults-fail", ERROR,
            "A node fails with the values that the file has for initialisers that are inputs too.",
            "The model runs only if the caller replaces such an initialiser.",
        ),
        LintRule(
            "ABS106", "branch-cannot-run", WARNING,
            "A node in a branch or a body fails whenever a run gets there.",
            "The condition hides it until it is true for the first time.",
        ),
        LintRule(
            "ABS201", "false-declaration", WARNING,
            "A declared type or shape of a computed value is false in every run.",
            "Tools that trust declarations plan memory and fold shapes by them. `absint annotate --merge override` "
            "writes the true shapes; a false declaration of an output also misleads the callers.",
            ("declaration that follows from it", "declarations that follow from it"),
        ),
        LintRule(
            "ABS202", "false-at-sizes", WARNING,
            "A declared shape of a computed value is false at legal sizes of the inputs, which the finding names.",
            "Often a size of the example that the model was exported with, or a formula of the exporter. `absint "
            "annotate --merge override` writes the true shapes.",
            ("declaration that follows from it", "declarations that follow from it"),
        ),
        LintRule(
            "ABS203", "one-name-two-sizes", WARNING,
            "One name is declared for dims that may differ.",
            "A name stands for one size: runtimes warn or fail where two dims of one name differ, and tools that "
            "trust names unify them. Rename one of them, or let `absint annotate --merge override` write the true "
            "shapes.",
            ("declaration with that name", "declarations with that name"),
        ),
        LintRule(
            "ABS204", "false-at-0", INFO,
            "Declared shapes are false, but only where some size is 0.",
            "It matters to a caller who feeds empty batches.",
            ("declaration", "declarations"),
        ),
        LintRule(
            "ABS205", "imprecise-output", INFO,
            "The declared shape of an output says less than is known: a dim without size and name, or with a name of "
            "its own where it is always a number or an expression over dims of the inputs.",
            "Callers have to guess how outputs follow from inputs. `absint annotate --outputs` writes what is known.",
            ("output", "outputs"),
        ),
        LintRule(
            "ABS206", "two-names-one-size", INFO,
            "Outputs have dims with different names that are always equal.",
            "One name for both says so.",
            ("name", "names"),
        ),
        LintRule(
            "ABS207", "undeclared-input", WARNING,
            "An input has no declared shape, so not even its rank is known.",
            "Sizes that follow from it stay unknown. Declare its shape, with names for dims that vary.",
        ),
        LintRule(
            "ABS208", "unnamed-dim", INFO,
            "Dims of inputs have neither a size nor a name.",
            "Dims of two inputs that must agree cannot say so without names.",
            ("input", "inputs"),
        ),
        LintRule(
            "ABS209", "dim-text", WARNING,
            "A dim of an input looks like an expression, but does not parse as one, so it is taken for a name.",
            "The grammar is in docs/grammar.md.",
        ),
        LintRule(
            "ABS210", "placeholder-names", INFO,
            "Dims of inputs are declared by placeholders, such as `?` or `None`, in place of names.",
            "They are unknown, each a size of its own. Give sizes that must agree one name.",
        ),
        LintRule(
            "ABS301", "only-one-size", WARNING,
            "A dim of an input is a symbol, but only one size is legal.",
            "The size of the example was baked in: callers who believe the symbol fail. Export the model so that it "
            "follows the input. Or declare the size with `absint freeze`; `absint dynamize --fix` makes it symbolic "
            "again, and rewrites or names the constants that hold it.",
        ),
        LintRule(
            "ABS302", "few-sizes", WARNING,
            "A dim of an input is a symbol, but only a few sizes are legal.",
            "As for a single legal size: mostly 1 (which broadcasts) and the size of the example.",
        ),
        LintRule(
            "ABS303", "multiple", INFO,
            "A dim of an input must be a multiple of a number, or have one remainder.",
            "Callers must pad or crop. Often by design, as in networks that halve an image several times.",
        ),
        LintRule(
            "ABS304", "bounded", INFO,
            "A dim of an input has a largest legal size, or a least one above 1.",
            "Often by design: a table of positions, the window of a convolution.",
        ),
        LintRule(
            "ABS305", "two-names-must-agree", WARNING,
            "Dims of inputs have different names, but only equal sizes are legal.",
            "Callers who believe the names feed different sizes and fail. Give both dims one name.",
        ),
        LintRule(
            "ABS306", "determined", INFO,
            "The size of a dim of an input follows from others.",
            "Declare the dim as that expression: then the file says so.",
        ),
        LintRule(
            "ABS307", "related-sizes", INFO,
            "Sizes of the inputs cannot be chosen independently, or not freely.",
            "`absint contract` shows all clauses, `absint check` decides sizes.",
            ("clause", "clauses"),
        ),
        LintRule(
            "ABS308", "open-contract", INFO,
            "Sizes of the inputs that meet the contract may fail: the rule of an operator does not state all that it "
            "needs, or a failure that sizes decide.",
            "`absint check` at the sizes in question, or a run, tells more.",
            ("node", "nodes"),
        ),
        LintRule(
            "ABS401", "no-rule", WARNING,
            "An operator has no transfer rule: its outputs are unknown, and so may be all that follows.",
            "Other findings may be missing. Write a rule (docs/custom-operators.md) and ship it as a plugin.",
        ),
        LintRule(
            "ABS402", "schema-inference", INFO,
            "Shapes of an operator come from the inference function of its onnx schema, which absint does not check.",
            "Write a rule (docs/custom-operators.md) to have them checked.",
        ),
        LintRule(
            "ABS403", "rule-failed", WARNING,
            "A transfer rule raised an error: the outputs of the node are unknown.",
            "Report it to the author of the rule.",
        ),
        LintRule(
            "ABS404", "plugin", WARNING,
            "A package with rules could not be used as it is.",
            "The message says why.",
        ),
        LintRule(
            "ABS501", "off-specification", WARNING,
            "A node does what the specification does not allow or leaves open; runtimes may differ.",
            "The message says what. docs/runtime-differences.md lists known differences.",
        ),
        LintRule(
            "ABS502", "node-form", INFO,
            "A node is written in a form that only some tools accept.",
            "The message says what.",
        ),
        LintRule(
            "ABS503", "unsorted", WARNING,
            "The nodes are not in topological order, as the specification demands.",
            "onnxruntime sorts them, other tools refuse the model.",
        ),
        LintRule(
            "ABS504", "overridable-initialisers", INFO,
            "Initialisers are inputs too, so a caller may replace them, and no runtime folds them.",
            "Exporters did so before IR version 4. Remove them from the inputs.",
        ),
        LintRule(
            "ABS505", "remark", INFO,
            "Another remark of the analysis.",
            "The message says what.",
        ),
    )
}  # fmt: skip
"""All rules by code, in order."""

OF_DIAGNOSTICS: Final = {
    "cannot-run": "ABS101",
    "contradiction": "ABS101",
    "ill-typed": "ABS102",
    "ill-formed": "ABS103",
    "undefined-input": "ABS104",
    "undefined-output": "ABS104",
    "duplicate-output": "ABS104",
    "duplicate-input": "ABS104",
    "duplicate-initialiser": "ABS104",
    "duplicate-attribute": "ABS104",
    "duplicate-name": "ABS104",
    "empty-name": "ABS104",
    "missing-input": "ABS104",
    "missing-import": "ABS104",
    "ir-version": "ABS104",
    "branch-outputs": "ABS104",
    "loop-arity": "ABS104",
    "scan-arity": "ABS104",
    "map-arity": "ABS104",
    "call-arity": "ABS104",
    "missing-attribute": "ABS104",
    "recursive-function": "ABS104",
    "negative-size": "ABS104",
    "defaults-fail": "ABS105",
    "dim-text": "ABS209",
    "placeholder-names": "ABS210",
    "limit": "ABS004",
    "lowering-limit": "ABS004",
    "no-rule": "ABS401",
    "schema-inference": "ABS402",
    "rule-failed": "ABS403",
    "plugin": "ABS404",
    "node": "ABS501",
    "newer-operator": "ABS401",
    "no-onnx": "ABS401",
    "node-form": "ABS502",
    "unsorted": "ABS503",
    "overridable-initialisers": "ABS504",
}
"""The rule of each kind of diagnostic."""

SILENT: Final = frozenset({"external-data", "folded-call", "plugin-rule", "rule-replaced"})
"""Diagnostics on which nobody would act, or of which ABS006 says more."""
