"""Nodes that make the tensors of recipes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from absint.jobs.dynamizing.resizing import Band, Recipe
from absint.jobs.rewriting.emitting import Array, Emitter, NotWrittenError
from absint.lattices.terms.expr import ONE_EXPR, Expr

_RANGE: Final = 11
_BROADCASTS: Final = 8


class RecipeEmitter(Emitter):
    """An emitter that makes what recipes say."""

    def made(self, made: Recipe) -> str:
        """The name of the tensor that a recipe makes."""
        if self._opset < (_RANGE if made.steps or made.band else _BROADCASTS):
            raise NotWrittenError(f"opset {self._opset} has no operator to make it")
        shape = self.numbers(made.dims, [len(made.dims)], np.dtype(np.int64))
        if made.band is not None:
            return self._node("Expand", [self._banded(made, made.band), shape], "band")
        if columns := _columns(made):
            return self._node("Concat", list(map(self.made, columns)), "table", axis=len(made.dims) - 1)
        # Runtimes add integers of 32 and 64 bits.
        works_in = np.dtype(np.int64) if made.steps else made.core.dtype
        found = self.constant(made.core.astype(works_in)) if made.start is None else self._number(made.start)
        for axis, step in made.steps.items():
            by = self._number(step) if isinstance(step, Expr) else self.constant(step.astype(np.int64))
            found = self._node("Add", [found, self._node("Mul", [self._along(made, axis), by], "steps")], "steps")
        return self._node("Expand", [self._cast(found, works_in, made.core.dtype), shape], "table")

    def _banded(self, made: Recipe, band: Band) -> str:
        """The two values on both sides of a diagonal. Runtimes choose between numbers of 32 and 64 bits."""
        rows, columns = (self._along(made, axis) for axis in (band.rows, band.columns))
        start = self._node("Add", [rows, self._number(band.offset)], "diagonal")
        before = self._node("Less", [columns, start], "below")
        dtype = made.core.dtype
        if dtype == np.bool_ and made.core.size == 1:
            return before if made.core.ravel()[0] else self._node("Not", [before], "above")
        wide = np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize < 8 else np.int64)
        works_in = dtype if dtype.kind == "f" and dtype.itemsize == 8 else wide
        values = [self.constant(value.astype(works_in)) for value in (made.core, band.above)]
        return self._cast(self._node("Where", [before, *values], "band"), works_in, dtype)

    def _along(self, made: Recipe, axis: int) -> str:
        """The indices of an axis, in a tensor of the rank of the recipe."""
        size = self._node("Reshape", [self._number(made.dims[axis]), self.constant(np.zeros(0, np.int64))], "size")
        zero, one = (self.constant(np.array(number, np.int64)) for number in (0, 1))
        places = self._node("Range", [zero, size, one], "places")
        shape = [1] * len(made.dims)
        shape[axis] = -1
        return self._node("Reshape", [places, self.constant(np.array(shape, np.int64))], "places")


def _columns(made: Recipe) -> list[Recipe]:
    """A recipe for each place of the last axis, where nothing but the place decides what a step is: numbers that count
    rows stand apart from others then.
    """
    last, width = len(made.dims) - 1, made.core.shape[-1] if made.core.ndim else 1
    if width == 1 or last in made.steps or all(isinstance(step, Expr) for step in made.steps.values()):
        return []
    parts: list[Recipe] = []
    for at in range(width):
        steps: dict[int, Expr | Array] = {}
        for axis, step in made.steps.items():
            mine = step if isinstance(step, Expr) else np.unique(step[..., at])
            if not isinstance(mine, Expr) and mine.size > 1:
                return []
            if isinstance(mine, Expr) or mine.any():
                steps[axis] = mine
        parts.append(replace(made, core=made.core[..., at : at + 1], dims=(*made.dims[:last], ONE_EXPR), steps=steps))
    return parts
