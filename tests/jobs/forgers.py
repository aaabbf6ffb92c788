"""Forgers of certificates and models: each changes one place, or one thing in several places that belong together."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from onnx import AttributeProto, ModelProto

from absint.questions.certificates import check
from tests.jobs.forged_certificates import mutated

ODD_NUMBERS = ["+1", "01", "1.0", "1e0", "#x1", "٣", "(+ 0 1)", "(- 1)", "0", "1", "2", "3", "7", "64", "-1", "1_0", ""]
ODD_COMMANDS = (
    "(assert false)", "(set-option :timeout 1)", "(set-logic QF_LIA)", "(push 1)", "(pop 1)", "(reset)", "(exit)",
    "(check-sat)", '(echo "unsat")', "(declare-fun in0@0 () Int)", "(declare-const |in0@0| Int)", "(assert claim0)",
    "(define-fun out0@0 () Int 7)", "(define-fun |claim0| () Bool true)", "(assert (= $0 7))", "(assert (= in0@0 7))",
    "(define-sort Int () Bool)", "(assert (! false :named a))", "(assert (let ((in0@0 1)) (= in0@0 2)))",
    "(assert (forall ((x Int)) false))", "(define-fun fact0 () Bool (= $0 7))\n(assert fact0)", "; unsat", "unsat",
    "(define-fun bound0 () Bool (<= $0 3))\n(assert bound0)",
    "(define-fun bound9 () Bool (<= 0 $0 3))\n(assert bound9)",
    "(assert (= out0@0 7))", "(assert (<= 0 in0@e0))", "(declare-const $9 Int)", "(define-fun $9 () Int out0@0)",
    "(define-fun begins@0 () Bool true)", "(define-fun goes@0 () Bool true)", "(define-fun out0@0 () Int trips@0)",
)  # fmt: skip


@dataclass(frozen=True)
class Forgery:
    """A certificate beside a model, as they are written; hashes are made to fit afterwards."""

    model: bytes
    manifest: dict[str, Any]
    lemmas: Mapping[str, str]
    files: Mapping[str, bytes] = field(default_factory=dict)


# The bytes of a model: fields that stand twice, are written in another way, or say more than one thing


def _varint(number: int, extra: int = 0) -> bytes:
    found = bytearray()
    while number > 127 or extra:
        if number <= 127:
            extra -= 1
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _parts(data: bytes) -> list[tuple[int, int, Any]]:
    message = check.fields(memoryview(data))
    return [
        (number, wire, value if wire == 0 else bytes(value)) for number in message for wire, value in message[number]
    ]


def _whole(parts: Sequence[tuple[int, int, Any]], dice: random.Random, odd: int = -1) -> bytes:
    found = b""
    for at, (number, wire, value) in enumerate(parts):
        extra = dice.choice([0, 1, 3]) if at == odd else 0
        found += _varint(number << 3 | wire, extra)
        found += _varint(value, extra) if wire == 0 else _varint(len(value), extra) + value if wire == 2 else value
    return found


def bytes_changed(data: bytes, kind: Descriptor, dice: random.Random) -> bytes:
    """A message with one field of it, or of a message inside, written otherwise."""
    parts = _parts(data)
    if not parts:
        return data + _varint(dice.choice([8, 16, 18, 10, 24])) + b"\1"
    inner = [
        at
        for at, (number, wire, _) in enumerate(parts)
        if wire == 2 and number in kind.fields_by_number and kind.fields_by_number[number].message_type is not None
    ]
    if inner and dice.random() < 0.85:
        at = dice.choice(inner)
        number, wire, value = parts[at]
        parts[at] = (number, wire, bytes_changed(value, kind.fields_by_number[number].message_type, dice))
        return _whole(parts, dice)
    at = dice.randrange(len(parts))
    number, wire, value = parts[at]
    other: Any = dice.choice([0, 1, 2, 3, 4, 6, 7, 64, (1 << 64) - 1, 1 << 32 | 7, 1 << 63]) if wire == 0 else value
    if wire == 2:
        texts = [part[2] for part in parts if part[1] == 2] + [b"", b"x", b"axis", b"ai.onnx", value + b"\0"]
        other = dice.choice(texts)
    way = dice.randrange(9)
    if way == 0:
        parts.insert(dice.choice([at, len(parts)]), (number, wire, other))
    elif way == 1:
        parts[at] = (number, wire, other)
    elif way == 2:
        del parts[at]
    elif way == 3:
        fixed = {0: (1, (value if wire == 0 else 0).to_bytes(8, "little")), 2: (0, 2), 5: (2, value), 1: (2, value)}
        parts.append((number, *fixed[wire]))
    elif way == 4:
        new = dice.choice(list(kind.fields))
        is_whole = new.type in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_ENUM)
        parts.append(
            (new.number, *((0, dice.choice([0, 1, 2, 7])) if is_whole else (2, dice.choice([b"", b"\1", b"N"]))))
        )
    elif way == 5:
        return _whole(parts, dice, at)
    elif way == 6:
        dice.shuffle(parts)
    elif way == 7 and wire == 0:
        parts[at] = (number, 2, _varint(value) + _varint(other))
    else:
        parts.append((dice.choice([number, 100, 1 << 28]), wire, other))
    return _whole(parts, dice)


def forged_bytes(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    return replace(found, model=bytes_changed(found.model, ModelProto.DESCRIPTOR, dice))


# Lemmas, with the steps that use them and the model


def _of_lemma(found: Forgery, dice: random.Random) -> tuple[dict[str, Any], str]:
    """A step by lemma, and the text of that."""
    step = dice.choice([step for step in found.manifest["steps"] if "lemma" in step])
    return step, found.lemmas[step["lemma"]]


def _with_lemma(found: Forgery, step: dict[str, Any], text: str, dice: random.Random) -> Forgery:
    """The step, or all that share its lemma, have another one."""
    old, new = step["lemma"], f"forged-{dice.randrange(1 << 30)}"
    for other in found.manifest["steps"] if dice.random() < 0.5 else [step]:
        if other.get("lemma") == old:
            other["lemma"] = new
    return replace(found, lemmas={**found.lemmas, new: text})


def number_in_lemma(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """A number or a name in a lemma is another one, in one place or in all, and in what the step claims."""
    step, text = _of_lemma(found, dice)
    tokens = re.findall(r"(?<![\w@$])\d+(?![\w@])|(?:in|out)\d+@\w+|\$\d+", text)
    old, new = dice.choice(tokens), dice.choice([*tokens, *ODD_NUMBERS])
    count = dice.choice([0, 1])
    places = [at.start() for at in re.finditer(rf"(?<![\w@$]){re.escape(old)}(?![\w@])", text)]
    if count:
        at = dice.choice(places)
        text = text[:at] + new + text[at + len(old) :]
    else:
        text = re.sub(rf"(?<![\w@$]){re.escape(old)}(?![\w@])", lambda _: new, text)
    if dice.random() < 0.7:
        shown = json.dumps(step.get("gives", [])), json.dumps(step.get("relations", []))
        gives, relations = (re.sub(rf'(?<=[ "]){re.escape(old)}(?=[ ")])', lambda _: new, said) for said in shown)
        step.update(
            {key: json.loads(said) for key, said in (("gives", gives), ("relations", relations)) if key in step}
        )
    return _with_lemma(found, step, text, dice)


def claim_changed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """A size is another one in the claim of the step, in that of its lemma, and in the claims of steps that take it."""
    step = dice.choice([step for step in found.manifest["steps"] if step.get("gives") and "lemma" in step])
    sizes = [(claim, at) for claim in step["gives"] for at in range(len(claim["dims"] or ()))]
    if not sizes:
        return found
    claim, at = dice.choice(sizes)
    terms = [
        dim for other in found.manifest["steps"] for given in other.get("gives", ()) for dim in given["dims"] or ()
    ]
    claim["dims"][at] = new = dice.choice([*filter(None, terms), "7", "0", "1"])
    out = step["gives"].index(claim)
    names = {term: name for name, term in step.get("names", {}).items()}
    text = re.sub(
        rf"\(= out{out}@{at} .*\)\n",
        lambda _: f"(= out{out}@{at} {names.get(new, new)}))\n",
        found.lemmas[step["lemma"]],
    )
    return _with_lemma(found, step, text, dice)


def lines_of_lemma(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """A line more or less, one from another lemma, or an odd command."""
    step, text = _of_lemma(found, dice)
    lines = text.splitlines()
    at, way = dice.randrange(len(lines)), dice.randrange(4)
    if way == 0:
        del lines[at]
    elif way == 1:
        foreign = dice.choice(list(dice.choice([found, *others]).lemmas.values())).splitlines()
        lines.insert(at, dice.choice(foreign))
    elif way == 2:
        lines[at] = lines[at].replace("Int", "Bool") if dice.random() < 0.3 else dice.choice(ODD_COMMANDS)
    else:
        lines.insert(at, dice.choice(ODD_COMMANDS))
    return _with_lemma(found, step, "\n".join([*lines, ""]), dice)


def other_lemma(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """The lemma of another step, or of another model, or of another operator by its title."""
    step, text = _of_lemma(found, dice)
    way = dice.randrange(4)
    if way == 0:
        step["lemma"] = _of_lemma(found, dice)[0]["lemma"]
        return found
    if way == 1:
        other = dice.choice(others)
        foreign, text = _of_lemma(other, dice)
        for key in ("names", "gives", "introduces", "facts"):
            if key in foreign and dice.random() < 0.7:
                step[key] = foreign[key]
        return _with_lemma(found, step, text, dice)
    title = dice.choice(
        ["Relu-14", "Identity-16", "Shape-15", "Loop", "If", "query", "Split-13", "my::Relu-14", "Transpose-1"]
    )
    text = re.sub(r"^; [^,]+,", f"; {title},", text)
    if way == 3:
        name = title.rpartition("-")[0] or title
        step["node"] = re.sub(r"^\S+", name, step["node"])
        if "operator" in step:
            step["operator"] = f"{name}-{step['operator'].rpartition('-')[2]}"
    return _with_lemma(found, step, text, dice)


def attribute_everywhere(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """An attribute, or the operator, is another one in the model and in the lemma that names it."""
    model = ModelProto.FromString(found.model)
    pending, every = list(model.graph.node), []
    while pending:
        node = pending.pop()
        every.append(node)
        pending += [inner for attribute in node.attribute for inner in attribute.g.node]
    node = dice.choice(every)
    steps = [
        step
        for step in found.manifest["steps"]
        if step.get("at", [""])[-1:] == list(node.output[:1]) and "lemma" in step
    ]
    if not steps:
        return found
    step = dice.choice(steps)
    text = found.lemmas[step["lemma"]]
    whole = [item for item in node.attribute if item.type in (AttributeProto.INT, AttributeProto.INTS)]
    if whole and dice.random() < 0.7:
        attribute = dice.choice(whole)
        if attribute.type == AttributeProto.INT:
            attribute.i = dice.choice([-1, 0, 1, 2])
            said: Any = attribute.i
        else:
            attribute.ints[dice.randrange(len(attribute.ints))] = dice.choice([-1, 0, 1, 2, 3])
            said = list(attribute.ints)
        text = re.sub(rf'"{attribute.name}": [^\]}},]+\]?', f'"{attribute.name}": {json.dumps(said)}', text)
    else:
        old, node.op_type = (
            node.op_type,
            dice.choice(["Relu", "Abs", "NonZero", "Shape", "Transpose", "Squeeze", "Flatten"]),
        )
        step["node"] = step["node"].replace(old, node.op_type)
        step["operator"] = step.get("operator", "").replace(old, node.op_type)
        text = re.sub(r"^; \w+-", f"; {node.op_type}-", text)
    return _with_lemma(replace(found, model=model.SerializeToString()), step, text, dice)


def facts_changed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """A fact of another node, or a relation more, with the lemma that fits."""
    steps = found.manifest["steps"]
    step, text = _of_lemma(found, dice)
    given = [(at, i) for at, other in enumerate(steps) for i in range(len(other.get("relations", ())))]
    if not given:
        return found
    at, index = dice.choice(given)
    relation = dict(steps[at]["relations"][index])
    if dice.random() < 0.5:
        step.setdefault("facts", []).append([at, index])
        names = {term: name for name, term in step.get("names", {}).items()}
        formula = check.printed(check.replaced(check.parsed(relation["formula"]), names))
        count = len(re.findall(r"define-fun fact\d+", text))
        fact = f"(define-fun fact{count} () Bool {formula})\n(assert fact{count})\n; the claims\n"
        return _with_lemma(found, step, text.replace("; the claims\n", fact), dice)
    relation["role"] = dice.choice(["required", "defined", "query", "derived", "assumed"])
    step.setdefault("relations", []).append(relation)
    return found


def bounds_narrowed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """A symbol has other bounds, in the manifest and in the lemmas."""
    symbols = [symbol for symbol, bound in found.manifest["symbols"].items() if bound]
    if not symbols:
        return found
    symbol = dice.choice(symbols)
    bound = found.manifest["symbols"][symbol]
    new = dice.choice(
        [f"(<= 1 {symbol} 2147483647)", f"(<= 0 {symbol} 7)", f"(<= 0 {symbol})", "", f"(<= {symbol} 3)", bound]
    )
    found.manifest["symbols"][symbol] = new
    lemmas = dict(found.lemmas)
    for step in found.manifest["steps"]:
        for name, term in step.get("names", {}).items():
            if term == symbol and new:
                old_text, new_text = (
                    f" {check.printed(check.replaced(check.parsed(b), {symbol: name}))})" for b in (bound, new)
                )
                lemmas[step["lemma"]] = lemmas[step["lemma"]].replace(old_text, new_text)
    return replace(found, lemmas=lemmas)


def text_changed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """The text of a query, its formula or its lemma, or what it takes, or several of them, are others."""
    steps = [step for step in found.manifest["steps"] if step.get("relations", [{}])[0].get("role") == "query"]
    step = dice.choice(steps)
    other, (given,) = dice.choice(steps), step["relations"]
    way = dice.randrange(5)
    if way == 0:
        words = re.findall(r"\w+|==|[<>]=", given["reason"])
        names = [claim["value"] for s in found.manifest["steps"] for claim in s.get("gives", ())]
        old, new = (
            dice.choice(words),
            dice.choice([*words, *names, "0", "1", "01", "1 or true", "+1", "\uff11", "<=", "N"]),
        )
        given["reason"] = step["node"] = given["reason"].replace(old, new, dice.choice([1, -1]))
    elif way == 1:
        given["reason"] = other["relations"][0]["reason"]
    elif way == 2:
        for key in dice.sample(["lemma", "names", "takes", "facts"], dice.choice([1, 2, 4])):
            step.pop(key, None)
            step |= {key: other[key]} if key in other else {}
    elif way == 3:
        given["formula"] = dice.choice(["true", "(= 1 1)", "(<= 0 in0@0)", other["relations"][0]["formula"]])
        text = re.sub(
            r"(define-fun claim0 \(\) Bool) .*\)\n", rf"\1 {given['formula']})\n", found.lemmas[step["lemma"]]
        )
        return _with_lemma(found, step, text, dice)
    else:
        step["takes"] = [
            dice.choice([[dice.randrange(len(found.manifest["steps"])), 0], place]) for place in step["takes"]
        ]
    return found


def manifest_changed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """One place of the manifest is another one."""
    return replace(found, manifest=mutated(found.manifest, dice))


def data_changed(found: Forgery, dice: random.Random, others: Sequence[Forgery]) -> Forgery:
    """The file of external data, or where it is said to lie, is another one."""
    model, files = ModelProto.FromString(found.model), dict(found.files)
    tensors = [tensor for tensor in model.graph.initializer if tensor.external_data]
    if not tensors:
        return forged_bytes(found, dice, others)
    tensor, way = dice.choice(tensors), dice.randrange(5)
    entry = dice.choice(tensor.external_data)
    if way == 0:
        data = bytearray(files["w"])
        data[dice.randrange(len(data))] = dice.randrange(8)
        files["w"] = bytes(data)
    elif way == 1:
        files["w"] = files["w"][: dice.randrange(len(files["w"]))] if dice.random() < 0.5 else b"\1" + files["w"]
    elif way == 2:
        entry.value = dice.choice(
            [f"+{entry.value}", f"0{entry.value}", "8", "0", "-8", "999", " 8", "\u0668", "1_6", "", "../w"]
        )
    elif way == 3:
        tensor.external_data.add(key=entry.key, value=dice.choice(["8", "0", "v", entry.value]))
    else:
        tensor.raw_data = bytes(dice.randrange(4) for _ in range(16))
    return replace(found, model=model.SerializeToString(), files=files)


FORGERS: tuple[Callable[[Forgery, random.Random, Sequence[Forgery]], Forgery], ...] = (
    forged_bytes,
    number_in_lemma,
    claim_changed,
    lines_of_lemma,
    other_lemma,
    attribute_everywhere,
    facts_changed,
    bounds_narrowed,
    text_changed,
    manifest_changed,
    data_changed,
)
