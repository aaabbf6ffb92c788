"""The ai.onnx.ml domain: classical machine learning on rows of features.

A tensor of rank 1 is one row. Shapes follow onnxruntime where the spec gives none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from absint.lattices.dtype import DTYPES, DType
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, eq, ge
from absint.lattices.shape import SCALAR, shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim, Expr, const
from absint.lattices.value import MapOf, SequenceOf, Tensor, Value
from absint.transfer.conditions import documents_exclude, has_rank, is_empty, required_text, runs_as
from absint.transfer.contrib.ml_models import POST_TRANSFORMS, counted, require_read_features, require_trees, rows_of
from absint.transfer.op import Op
from absint.transfer.rule import ML, rule


def _label_dtype(op: Op, strings: str = "classlabels_strings") -> DType:
    return DType.STRING if counted(op, strings) else DType.INT64


def _table(op: Op, columns: int | None, dtype: DType = DType.FLOAT) -> Tensor:
    """One row of results for each row of X."""
    return Tensor(dtype, shape_of((rows_of(op), UNKNOWN_SIZE if columns is None else const(columns))))


@rule("Scaler", "X[...] -> Y:float[...]", domain=ML, complete=True)
def scaler(op: Op) -> None:
    """(X - offset) * scale, as floats."""
    count = counted(op, "scale")
    if not count or count != counted(op, "offset"):
        op.reject("scale and offset must have the same length", by="undocumented")
    op.require(_per_feature(op, count), "scale and offset must fit the features", by="undocumented")


def _per_feature(op: Op, count: int) -> Relation:
    """There is one value, or one for each feature: along axis 1, or along the axis of a vector."""
    shape = op.tensor("X").shape
    if shape.is_top:
        return UNKNOWN_RELATION
    if len(shape) == 0:
        return FALSE
    return TRUE if count == 1 else eq(shape[min(len(shape), 2) - 1], count)


@rule("Normalizer", "X[...] -> Y:float[...]", domain=ML, complete=True)
def normalizer(op: Op) -> None:
    """Each row divided by its norm, as floats."""
    op.require(has_rank(op.tensor("X").shape, 1, 2), "X must have rank 1 or 2", by="undocumented")
    required_text(op, "norm", ("MAX", "L1", "L2"))


@rule("Imputer", "X -> Y", domain=ML, complete=True)
def imputer(op: Op) -> Tensor:
    """The input with some elements replaced."""
    names = {DType.FLOAT: "imputed_value_floats", DType.INT64: "imputed_value_int64s"}
    count = counted(op, names.get(op.dtype("X"), ""))
    _require_one_of(op, *names.values(), filled=True)
    if not count:
        is_told = op.dtype("X") in names
        op.require(FALSE if is_told else UNKNOWN_RELATION, "a value of the type of X must be given", by="undocumented")
    rank = op.tensor("X").shape.rank
    if op.semantics != "onnxruntime":
        op.may_fail("the values must fit the features", unless=_per_feature(op, count))
    elif not rank:
        op.require(UNKNOWN_RELATION if rank is None else FALSE, "X must have features")
    return Tensor(op.dtype("X"), op.tensor("X").shape)


@rule("Binarizer", "X[...] -> Y[...]", domain=ML, complete=True, starred=True)
def binarizer(op: Op) -> None:
    """1 for elements above the threshold, else 0."""


@rule("OneHotEncoder", "X -> Y", domain=ML, complete=True)
def one_hot_encoder(op: Op) -> Tensor:
    """A last axis with one column for each category."""
    shape, categories = op.tensor("X").shape, counted(op, "cats_int64s", "cats_strings")
    empty = is_empty(shape)
    skips = op.integer("zeros", 1) != 0
    if not skips:
        op.may_fail("every element must be a known category", unless=empty)
    _require_one_of(op, "cats_int64s", "cats_strings")
    if counted(op, "cats_strings" if op.dtype("X") is not DType.STRING else "cats_int64s"):
        if op.semantics != "onnxruntime" or op.dtype("X") is DType.UNDEFINED:
            op.may_fail("the categories must have the type of X")
        elif not skips:
            op.require(empty, "the categories must have the type of X")
    if not categories:
        op.reject("OneHotEncoder must have categories, found none", "ill-formed")
    return Tensor(DType.FLOAT, shape if shape.is_top else shape_of((*shape, const(categories))))


def _swapped(op: Op) -> Tensor:
    """Strings to integers, or integers to strings."""
    swapped = {DType.STRING: DType.INT64, DType.INT64: DType.STRING}
    return Tensor(swapped.get(op.dtype("X"), DType.UNDEFINED), op.tensor("X").shape)


@rule("LabelEncoder", "X -> Y", until=1, domain=ML, complete=True)
def label_encoder_1(op: Op) -> Tensor:
    """Strings to their places in a list, or places to strings."""
    if not counted(op, "classes_strings"):
        is_given = "classes_strings" in op.attributes
        op.require(UNKNOWN_RELATION if is_given else FALSE, "classes_strings must hold labels", by="undocumented")
    return _swapped(op)


@rule("CategoryMapper", "X -> Y", domain=ML, complete=True)
def category_mapper(op: Op) -> Tensor:
    """Strings to integers, or integers to strings, by two lists of one length."""
    numbers, texts = counted(op, "cats_int64s"), counted(op, "cats_strings")
    if not numbers or numbers != texts:
        op.reject(f"cats_int64s and cats_strings must have the same length, found {numbers} and {texts}", "ill-formed")
    return _swapped(op)


@rule("LabelEncoder", "X -> Y", since=2, domain=ML, complete=True)
def label_encoder(op: Op) -> Tensor:
    """Each element replaced by the value of its key."""
    lengths = [_only_length(op, part) for part in ("keys", "values")]
    if None in lengths:
        op.may_fail("one list of keys and one of values must be given")
    elif lengths[0] != lengths[1]:
        numbers = f"{lengths[0]} keys, {lengths[1]} values"
        op.reject(f"onnxruntime needs a value for each key, found {numbers}", by="onnxruntime")
    _require_type(op, *_lists(op, "keys"))
    found = [dtype for _, dtype in _lists(op, "values")]
    default = op.attribute_tensor("default_tensor")
    if default is not None:
        if default.shape.concrete not in (None, (1,)):
            op.reject(f"default_tensor must hold one element in one axis, found shape {default.shape}", "ill-formed")
        if len(found) == 1 and DTYPES.meet(default.dtype, found[0]) is DType.CONFLICT:
            both = f"{default.dtype} and {found[0]}"
            op.reject(f"default_tensor must have the type of the values, found {both}", "ill-typed")
    return Tensor(found[0] if len(found) == 1 else DType.UNDEFINED, op.tensor("X").shape)


_KINDS = {"strings": DType.STRING, "int64s": DType.INT64, "floats": DType.FLOAT}


def _lists(op: Op, part: str) -> list[tuple[str, DType]]:
    """The attributes that hold this part of a label encoder, with their element types."""
    lists = [(name, dtype) for kind, dtype in _KINDS.items() if counted(op, name := f"{part}_{kind}")]
    return [*lists, *_typed(op, f"{part}_tensor")]


def _only_length(op: Op, part: str) -> int | None:
    """The length of the only attribute of this part of a label encoder; None if there is another number of them."""
    names = [name for kind in (*_KINDS, "tensor") if (name := f"{part}_{kind}") in op.attributes]
    return (_length(op, names[0]) or None) if len(names) == 1 else None


def _require_one_of(op: Op, *names: str, filled: bool = False) -> None:
    """Require exactly one of these attributes; `filled`: a list that holds values."""
    found = [name for name in names if (counted(op, name) if filled else name in op.attributes)]
    if len(found) != 1:
        must = "hold values" if filled else "be given"
        op.reject(f"one of {' and '.join(names)} must {must}, found {' and '.join(found) or 'none'}", "ill-formed")


def _typed(op: Op, *names: str) -> Iterator[tuple[str, DType]]:
    """The tensor attributes that are given, with their element types."""
    for name in names:
        tensor = op.attribute_tensor(name)
        if tensor is not None:
            yield name, tensor.dtype


def _require_type(op: Op, *attributes: tuple[str, DType]) -> None:
    """Require the element type of X in each attribute."""
    found = op.dtype("X")
    for name, dtype in attributes:
        if DTYPES.meet(found, dtype) is DType.CONFLICT:
            both = f"{found} and {dtype}"
            op.reject(f"input X and attribute {name} must share one element type, found {both}", "ill-typed")


@rule("LinearClassifier", "X -> Y Z", domain=ML, complete=True)
def linear_classifier(op: Op) -> Sequence[Tensor]:
    """Label and scores; a single score is doubled where there are two labels."""
    classes, labels = counted(op, "intercepts"), counted(op, "classlabels_strings", "classlabels_ints")
    _linear(op, classes)
    if not counted(op, "coefficients"):
        op.reject("coefficients must not be empty", by="undocumented")
    if counted(op, "classlabels_strings") and counted(op, "classlabels_ints"):
        op.reject("one of classlabels_strings and classlabels_ints must hold labels, found both", "ill-formed")
    if op.semantics == "onnxruntime":
        runs = labels in (0, 2) if classes == 1 else 0 < classes <= labels
        whole = runs and counted(op, "coefficients") % classes == 0
        op.require(TRUE if whole else FALSE, "each class must have a label, and as many coefficients")
    elif (classes, labels) != (1, 2) and (classes != labels or labels < 2):
        op.may_fail("each class must have a label")
    if classes == 1 and labels == 2:
        classes = 2
    return Tensor(_label_dtype(op), shape_of((rows_of(op),))), _table(op, classes or None)


def _linear(op: Op, targets: int) -> None:
    """Require a coefficient for each feature and target, and a known transformation."""
    required_text(op, "post_transform", POST_TRANSFORMS)
    shape, count = op.tensor("X").shape, counted(op, "coefficients")
    op.reject("attribute coefficients must be given", unless="coefficients" in op.attributes, by="undocumented")
    if not targets or not shape.rank:
        op.may_fail("each feature must have a coefficient")
    else:
        needed = shape[-1] * targets
        runs_as(op, ge(count, needed), eq(needed, count), "each feature must have a coefficient")


@rule("TreeEnsembleClassifier", "X -> Y Z", domain=ML, complete=True)
def tree_ensemble_classifier(op: Op) -> Sequence[Tensor]:
    """Label and scores, one for each label."""
    labels = counted(op, "classlabels_strings", "classlabels_int64s")
    if labels < 2 and (op.semantics != "onnxruntime" or counted(op, "classlabels_strings")):
        op.may_fail("onnxruntime may crash on a single class")
    require_trees(op, "class", labels)
    return Tensor(_label_dtype(op), shape_of((rows_of(op),))), _table(op, labels or None)


@rule("LinearRegressor", "X -> Y", domain=ML, complete=True)
def linear_regressor(op: Op) -> Tensor:
    """One column for each target."""
    targets = op.integer("targets", 1)
    op.reject("there must be a target", unless=targets >= 1, found=targets, by="undocumented")
    _linear(op, targets)
    op.may_fail("each target must have an intercept", unless=counted(op, "intercepts") in (0, targets), by="onnx")
    return _table(op, targets)


@rule("TreeEnsembleRegressor", "X -> Y", domain=ML, complete=True)
def tree_ensemble_regressor(op: Op) -> Tensor:
    """One column for each target."""
    targets = op.integer("n_targets")
    require_trees(op, "target", targets or 0)
    return _table(op, targets)


@rule("TreeEnsemble", "X -> Y", since=5, domain=ML)
def tree_ensemble(op: Op) -> Tensor:
    """One column for each target, of the type of the input."""
    op.may_fail("the attributes must fit the features")
    _require_type(op, *_typed(op, "nodes_splits", "leaf_weights"))
    _require_lengths(op, "nodes_featureids", _NODES)
    _require_lengths(op, "leaf_targetids", ("leaf_weights",))
    require_read_features(op)
    return _table(op, op.integer("n_targets"), op.dtype("X"))


_NODES = (
    "nodes_splits", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs",
    "nodes_hitrates", "nodes_missing_value_tracks_true",
)  # fmt: skip


def _require_lengths(op: Op, first: str, others: Iterable[str]) -> None:
    """Require as many entries in each given attribute as in the first."""
    expected = _length(op, first)
    for name in others:
        found = _length(op, name)
        if found is not None and expected is not None and found != expected:
            op.reject(f"{name} must have as many entries as {first}, found {found} and {expected}", "ill-formed")


def _length(op: Op, name: str) -> int | None:
    """The entries of a list or of a tensor of one axis; None if it is absent."""
    value = op.attributes.get(name)
    if not isinstance(value, Tensor):
        return len(value) if isinstance(value, (list, tuple)) else None
    if value.shape.rank is not None and value.shape.rank != 1:
        op.reject(f"{name} must have one axis, found shape {value.shape}", "ill-formed")
    return None if value.shape.concrete is None else value.shape.concrete[0]


@rule("ArrayFeatureExtractor", "X Y -> Z", domain=ML, complete=True)
def array_feature_extractor(op: Op) -> Tensor:
    """The columns of X that Y names."""
    x, dtype, chosen = op.tensor("X").shape, op.dtype("X"), op.block("Y")
    if x.is_top:
        op.may_fail("every column must exist")
        return Tensor(dtype)
    op.reject("X must not be a scalar", unless=len(x) != 0)
    count = op.tensor("Y").shape.size
    op.require(ge(count, 1), "Y must name a column")
    op.require(ge(x[-1], 1), "X must have a column")
    columns = [e for e in chosen.elements if isinstance(e, Expr)] if chosen is not None else []
    op.may_fail("every column must exist", unless=chosen is not None and len(columns) >= len(chosen.elements))
    for column in dict.fromkeys(columns):
        op.require(ge(column, 0) & ge(x[-1] - 1, column), "every column must exist", by="undocumented")
    rows = x[:-1] if len(x) > 1 else (ONE_EXPR,)
    return Tensor(dtype, shape_of((*rows, count)))


@rule("FeatureVectorizer", "X* -> Y", domain=ML, complete=True)
def feature_vectorizer(op: Op) -> Tensor:
    """The features of all inputs side by side, as floats; `inputdimensions` says how many of each."""
    sizes, inputs = op.ints("inputdimensions") or [], op.variadic()
    if len(sizes) != len(inputs):
        op.reject(f"inputdimensions must have one number for each of {len(inputs)} inputs, found {len(sizes)}")
    op.reject("inputdimensions must not be negative", unless=min(sizes, default=0) >= 0, found=sizes)
    rows: Dim | None = None
    for tensor, size in zip(inputs, sizes, strict=True):
        shape = tensor.shape
        if shape.is_top:
            op.may_fail("the inputs must be rows of features")
            continue
        op.reject("the inputs must be rows of features, found a scalar", unless=len(shape) != 0)
        if len(shape) > 2:
            documents_exclude(op, f"the inputs must be rows of features, found shape {shape}")
        runs_as(op, TRUE, eq(shape[-1], size), "an input must have as many features as inputdimensions says")
        found = shape[0] if len(shape) > 1 else ONE_EXPR
        if rows is not None:
            op.require_equal(rows, found, "the inputs must have the same number of rows")
        rows = rows if rows is not None and found.is_unknown else found
    rows = UNKNOWN_SIZE if rows is None else rows
    if any(sizes[:-1]):  # an input begins behind the features of another
        op.require(ge(rows, 1), "onnxruntime ends the process without rows", by="onnxruntime")
    return Tensor(DType.FLOAT, shape_of((rows, const(sum(sizes)))))


# Maps


@rule("ZipMap", "X -> Z", domain=ML, complete=True)
def zip_map(op: Op) -> Value:
    """Each row as a map from label to score."""
    labels = counted(op, "classlabels_strings", "classlabels_int64s")
    _require_one_of(op, "classlabels_strings", "classlabels_int64s", filled=True)
    shape = op.tensor("X").shape
    rows = rows_of(op)
    columns = UNKNOWN_SIZE if shape.is_top or not labels else shape[-1]
    op.require_equal(columns, labels, "X must have a column for each label")
    return SequenceOf(MapOf(_label_dtype(op), Tensor(DType.FLOAT, SCALAR)), rows)
