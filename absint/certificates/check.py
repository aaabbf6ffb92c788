#!/usr/bin/env python3
"""Check a certificate: the files of this folder, their chain, and with a solver each lemma.

    python check.py                        cvc5 or z3, as a program or as a module of Python
    python check.py --solver "z3 -T:60"    any program that reads SMT-LIB 2 from a file and prints unsat
    python check.py --model MODEL          the hash of the model is that of the one that was certified

It needs nothing but Python's own library and a solver. What it shows: each claim of manifest.json follows from the
specification that its lemma writes down, from what the file of the model says, from the premises, and from claims of
earlier steps. What rests on the word of absint is counted, and so is what is read from the model, which it does not
open: that the inputs, constants and nodes of the model are those of the steps, and that a lemma writes the
specification of its operator down rightly, is for you to read. Exit code: 0 if all is well, 1 if something is wrong,
2 if it cannot be checked.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SCHEMA = "absint.certificate/1"
DEFINED = re.compile(r"\(define-fun (\S+) \(\) (?:Int|Bool|Real) (.*)\)")
DECLARED = re.compile(r"\(declare-const (\S+) (?:Int|Bool|Real)\)")
ASSERTED = re.compile(r"\(assert (.*)\)")
TOKEN = re.compile(r"\|[^|]*\||[^\s()]+")
# The names of a lemma: numbers, sizes and elements of inputs and of outputs, and what else a specification defines.
NUMBER = r"\$\d+"
INPUT = r"in\d+@(?:rank|e?\d+)"
OUTPUT = r"out\d+@(?:rank|e?\d+)"
NODE = rf"{OUTPUT}|[a-z]+@0"
HYPOTHESIS = r"(?:bound|fact)\d+"
WORDS = frozenset(["+", "-", "*", "/", "div", "mod", "ite", "not", "and", "or", "=>", "=", "<=", ">=", "true", "false"])
SIZE = "(<= 0 {} 2147483647)"
TRUTH = "(<= 0 {} 1)"
TRIP = "(<= 0 {} 2147418111)"
INTERVAL = r"(?:\(<= (?:{0} )?{1}(?: {0})?\))?"
INTEGERS = ("(<= (- 2147483648) {} 2147483647)", "(<= (- 9223372036854775808) {} 9223372036854775807)")


class WrongError(Exception):
    """A part of the certificate is not as it should be."""


class Lemma:
    """A lemma, read: its title, its definitions by name, its declared names, and its facts, bounds and claims."""

    def __init__(self, text: str) -> None:
        self.defined: dict[str, str] = {}
        self.declared: set[str] = set()
        if not text.isascii() or not text.replace("\n", "").isprintable():
            raise WrongError("it has odd characters")
        self.title = text.partition("\n")[0].strip("; ").partition(",")[0]
        commands = [line for line in (line.partition(";")[0].rstrip() for line in text.split("\n")) if line]
        if len(commands) < 3 or commands[0] != "(set-logic ALL)" or commands[-1] != "(check-sat)":
            raise WrongError("it must begin with set-logic and end with check-sat")
        for command in commands[1:-2]:
            if problem := self._problem(command):
                raise WrongError(f"{problem}: {command if len(command) < 100 else f'{command[:97]}...'}")
        self.facts, self.bounds, self.claims = map(self._numbered, ("fact", "bound", "claim"))
        claims = " ".join(f"claim{at}" for at in range(len(self.claims)))
        if commands[-2] != f"(assert (not (and {claims})))":
            raise WrongError("its last assertion must be that some claim is false")
        self.hypotheses = "\n".join([*commands[:-2], commands[-1], ""])

    def _problem(self, command: str) -> str:
        """The reason why a command is none that a lemma may have, if there is one."""
        if found := ASSERTED.fullmatch(command):
            return self._assertion_problem(found[1])
        if found := DECLARED.fullmatch(command):
            name, body = found[1], ""
            problem = "" if is_name(name, f"{NUMBER}|{INPUT}|{NODE}") else f"a lemma declares no {name}"
        elif found := DEFINED.fullmatch(command):
            name, body = found[1], found[2]
            problem = self._definition_problem(name, body)
        else:
            return "odd command"
        if name in self.defined or name in self.declared:
            return f"{name} has two meanings"
        if self.title == "query" and is_name(name, NODE):
            return "a query has no node"
        if body:
            self.defined[name] = body
        else:
            self.declared.add(name)
        return problem

    def _definition_problem(self, name: str, body: str) -> str:
        if is_name(name, NUMBER):
            return "" if is_name(body, OUTPUT) and self._is_about(body, OUTPUT) else "it names no size and no element"
        if is_name(name, f"{HYPOTHESIS}|{INPUT}"):
            is_given = self._is_about(body, NUMBER) and not self.defined.keys() & TOKEN.findall(body)
            return "" if is_given else "it must speak of declared numbers $0, $1, ..."
        if is_name(name, NODE):
            return "" if self._is_about(body, f"{INPUT}|{NODE}") else "its specification must speak of the node alone"
        if is_name(name, r"claim\d+"):
            return "" if self._is_about(body, f"{NUMBER}|{INPUT}|{NODE}") else "odd claim"
        return f"a lemma defines no {name}"

    def _assertion_problem(self, formula: str) -> str:
        """A lemma asserts bounds and facts, that inputs have sizes, and the specification of its node."""
        if self._is_about(formula, HYPOTHESIS) and formula in self.defined:
            return ""
        if self._is_about(formula, INPUT) and re.fullmatch(r"\(<= 0 in\d+@\d+\)", formula):
            return ""
        if self.title == "query":
            return "a query has no specification"
        return "" if self._is_about(formula, f"{INPUT}|{NODE}") else "its specification must speak of the node alone"

    def _is_about(self, text: str, names: str) -> bool:
        """It is one term over names of this form that have a meaning, and words and numbers."""
        words = (word for word in TOKEN.findall(text) if word not in WORDS and not is_name(word, r"\d+(?:\.\d+)?"))
        return is_term(text) and all(
            is_name(word, names) and (word in self.defined or word in self.declared) for word in words
        )

    def _numbered(self, kind: str) -> list[str]:
        found = {name: body for name, body in self.defined.items() if is_name(name, rf"{kind}\d+")}
        names = [f"{kind}{at}" for at in range(len(found))]
        if found.keys() != set(names):
            raise WrongError(f"its {kind}s must be numbered from 0")
        return [found[name] for name in names]


def is_name(text: str, form: str) -> bool:
    """The text is a name of this form."""
    return re.fullmatch(form, text) is not None


def is_term(text: str) -> bool:
    """The text is one word, or one list in brackets."""
    depth = ends = 0
    for token in re.findall(r"[()]|\|[^|]*\||[^\s()]+", text):
        depth += (token == "(") - (token == ")")
        if depth < 0:
            return False
        ends += depth == 0
    return depth == 0 and ends == 1


class Chain:
    """The steps of a certificate, checked one after the other."""

    def __init__(self, manifest: dict[str, Any], lemmas: dict[str, Lemma]) -> None:
        self.manifest, self.lemmas = manifest, lemmas
        self.steps: list[dict[str, Any]] = manifest["steps"]
        self.bounds: dict[str, str] = manifest["symbols"]
        self.known: set[str] = set()  # symbols that were introduced
        self.words: list[set[int]] = []  # for each step the steps on whose word it rests
        # For each step those whose claims it takes; for the head of a loop that of its next trip too.
        self.needs: list[set[int]] = []
        self.opened: set[int] = set()  # heads of loops whose next trip is not shown yet
        self.counts: Counter[tuple[str, str]] = Counter()

    def step(self, number: int) -> None:
        """Check one step, which may rest on earlier ones alone."""
        step = self.steps[number]
        by, new = step["by"], step.get("introduces", {})
        self.words.append(set())
        self.needs.append({place[0] for place in step["takes"] if place is not None})
        if any(not 0 <= need < number for need in self.needs[number]):
            raise WrongError("it rests on a later step")
        if self.known & new.keys():
            raise WrongError(f"it introduces {min(self.known & new.keys())} again")
        for symbol, place in new.items():
            if by == "model" or (by == "lemma" and place):
                is_size = (by == "model" or "@e" not in place) and symbol in symbols(" ".join(terms(step, ["dims"])))
                self.bounded(symbol, (SIZE,) if is_size else ("", SIZE, TRIP, TRUTH, *INTEGERS))
        odd = [symbol for symbol, place in new.items() if by == "lemma" and not place]
        self.known.update(odd)  # on the word of the rule
        relations = step.get("relations", ())
        places: set[str] = set()  # of the values in a query, which its relation may speak of
        if by == "lemma":
            lemma = self.lemmas[step["lemma"]]
            self.by_lemma(number, step, lemma)
            if lemma.title == "query":
                places = lemma.defined.keys() | lemma.declared
        elif by == "model":
            from_model(step)
        elif by != "rule":
            raise WrongError(f"nobody is called {by!r}")
        if by != "lemma" and any(given["by"] != "rule" for given in relations):
            raise WrongError("no lemma shows its relations")
        self.known |= new.keys()
        for text in terms(step):
            self.introduced(text)
        for given in relations:
            self.introduced(given["formula"], places)
        if by == "rule" or step.get("on_trust") or odd:
            self.words[number].add(number)

    def bounded(self, symbol: str, forms: Sequence[str] = (SIZE,)) -> None:
        """The manifest bounds a size as all sizes are, and an element by its type."""
        if self.bounds[symbol] not in [form.format(symbol) for form in forms]:
            raise WrongError(f"nothing bounds {symbol} by {self.bounds[symbol]}")

    def introduced(self, text: str, places: set[str] | None = None) -> None:
        """The term speaks of symbols that have a meaning, and of no name of a lemma but these places."""
        if unknown := symbols(text) - self.known - (places or set()):
            raise WrongError(f"nobody has introduced {min(unknown)}")

    def end(self) -> None:
        """Check declared symbols, and that the loops are closed; count the claims by what they rest on."""
        for symbol in self.manifest["inputs"]:
            self.bounded(symbol)
        for symbol, bound in self.bounds.items():
            if not is_name(bound, INTERVAL.format(r"(?:\d+|\(- \d+\))", re.escape(symbol))):
                raise WrongError(f"{bound} does not bound {symbol} alone")
        if self.opened:
            raise WrongError(f"the loop of step {min(self.opened)} is not shown to go on")
        before = -1
        while sum(map(len, self.words)) != before:
            before = sum(map(len, self.words))
            for words, needs in zip(self.words, self.needs, strict=True):
                words.update(*(self.words[step] for step in needs))
        for step, words in zip(self.steps, self.words, strict=True):
            self.count(step, words)

    def count(self, step: dict[str, Any], rests: set[int]) -> None:
        """Count the claims by what they rest on."""
        best = "resting" if rests else "certified"
        trusted = step.get("on_trust", ())
        for at, claim in enumerate(step.get("gives", ()) if step["by"] != "model" else ()):
            for axis, dim in enumerate(claim.get("dims") or ()):
                on_trust = step["by"] == "rule" or f"out{at}@{axis}" in trusted
                self.counts["sizes", "on trust" if on_trust else best] += dim is not None
        for given in step.get("relations", ()):
            kind = {"required": "requirements", "defined": "defined", "query": "queries"}.get(given["role"])
            if kind is not None:
                self.counts[kind, "on trust" if given["by"] == "rule" else best] += 1

    def by_lemma(self, number: int, step: dict[str, Any], lemma: Lemma) -> None:
        """The lemma, with terms for its symbols, says what the step claims of what it takes."""
        names: dict[str, str] = step.get("names", {})
        head = self.head(number, step, lemma)
        self.title(step, lemma)

        def local(text: str) -> str:
            return TOKEN.sub(lambda found: names.get(found[0], found[0]), text)

        new: dict[str, str] = head.get("introduces", {})
        numbers = {name for name in (*lemma.declared, *lemma.defined) if is_name(name, NUMBER)}
        if strange := numbers ^ names.keys():
            raise WrongError(f"{min(strange)} stands for nothing")
        for name, term in names.items():
            if name in lemma.declared:
                of_trip = symbols(term) & new.keys() if head is not step else set()
                if of_trip and any(name in TOKEN.findall(claim) for claim in lemma.claims):
                    raise WrongError(f"its claims must be about {min(of_trip)} of the next trip")
                if not is_term(term) or not symbols(term) <= self.known:
                    raise WrongError(f"{name} stands for what nobody has introduced")
            elif lemma.defined[name] != new.get(term) or not self.may_name(term, name, lemma):
                raise WrongError(f"{term} is not the name of a size or an element")
        for bound in map(local, lemma.bounds):
            if not any(bound == self.bounds[symbol] for symbol in symbols(bound)):
                raise WrongError(f"the manifest does not bound {bound}")
        self.inputs(number, step, lemma, local)
        facts = [self.relation(number, place) for place in step.get("facts", ())]
        if list(map(local, lemma.facts)) != facts:
            raise WrongError("its facts are not those of the steps it names")
        expected = [*claimed(head), *(g["formula"] for g in head.get("relations", ()) if g["by"] == "lemma")]
        found = list(map(local, lemma.claims))
        if found[len(found) - len(expected) :] != expected:
            pairs = zip(expected, found[-len(expected) :], strict=False)
            odd = next((f"{a}, its lemma proves {b}" for a, b in pairs if a != b), "more than its lemma proves")
            raise WrongError(f"it claims {odd}")

    def title(self, step: dict[str, Any], lemma: Lemma) -> None:
        """The lemma is about the operator of the step, or about no node if it shows what somebody asks."""
        shown = [given["role"] for given in step.get("relations", ()) if given["by"] == "lemma"]
        asked = [role in ("query", "derived") for role in shown]
        if lemma.title == "query":
            if not all(asked) or "operator" in step:
                raise WrongError("its lemma is about no node")
        elif any(asked):
            raise WrongError("a query needs a lemma without a node")
        elif operator_of(step).rpartition("::")[2] != lemma.title.partition("-")[0]:
            raise WrongError(f"its lemma is about {lemma.title}")

    def head(self, number: int, step: dict[str, Any], lemma: Lemma) -> dict[str, Any]:
        """The step whose claims the lemma is about: itself, or the head of a loop, of which it shows the next trip."""
        if "start@0" in lemma.defined:
            self.opened.add(number)
        if not step.get("closes"):
            return step
        (head,) = step["closes"]
        if head not in self.opened or "next@0" not in lemma.defined:
            raise WrongError("it closes no loop")
        if step.get("gives") or step.get("relations"):
            raise WrongError("it shows the claims of the head of a loop, and states none")
        self.opened.remove(head)
        self.needs[head].add(number)
        return self.steps[int(head)]

    def may_name(self, symbol: str, name: str, lemma: Lemma) -> bool:
        """A symbol for a size, an element or the number of a trip may be bounded as these are, and no closer."""
        place = lemma.defined[name]
        is_trip = place == "out0@e0" and {"start@0", "next@0"} & lemma.defined.keys()
        forms = (TRIP,) if is_trip else INTEGERS if "@e" in place else (SIZE,)
        return self.bounds[symbol] in [form.format(symbol) for form in forms]

    def inputs(self, number: int, step: dict[str, Any], lemma: Lemma, local: Callable[[str], str]) -> None:
        """The lemma assumes of its inputs exactly the claims of their steps."""
        said = {name for name in (*lemma.defined, *lemma.declared) if name.startswith("in")}
        for at, place in enumerate(step["takes"]):
            own = {name for name in said if name.startswith(f"in{at}@")}
            said -= own
            if place is None or not own:
                if own:
                    raise WrongError(f"input {at} is left out")
                continue
            parts = parts_of(f"in{at}", self.claim(place))
            if own != parts.keys():
                raise WrongError(f"input {at} has another form in its lemma")
            for name in own - lemma.declared:
                if local(lemma.defined[name]) != parts[name]:
                    raise WrongError(f"{name} is {local(lemma.defined[name])} in its lemma, claimed is {parts[name]}")
        if said:
            raise WrongError(f"it has no input {min(said)}")

    def claim(self, place: list[int]) -> dict[str, Any]:
        step, output = place
        return dict(self.steps[step]["gives"][output])

    def relation(self, number: int, place: list[int]) -> str:
        step, index = place
        if step == -1:
            self.introduced(self.manifest["premises"][index])
            return str(self.manifest["premises"][index])
        if not 0 <= step < number:
            raise WrongError("it rests on a later step")
        given = self.steps[step]["relations"][index]
        self.introduced(given["formula"])
        self.needs[number].add(step)
        self.words[number] |= {step} if given["by"] == "rule" else set()
        return str(given["formula"])


def operator_of(step: dict[str, Any]) -> str:
    """The operator in the name of the node, which is that of the step if it has one."""
    operator = re.split("[ ,]", step["node"])[0]
    if step.get("operator", f"{operator}-").rpartition("-")[0] != operator:
        raise WrongError(f"it is no node of {step['operator']}")
    return operator


def from_model(step: dict[str, Any]) -> None:
    """Inputs, initialisers and constants are read from the model: they take nothing and state nothing."""
    kind = operator_of(step)
    if kind != ("Constant" if "operator" in step else "input"):
        raise WrongError(f"only inputs and constants are read from the model, not {kind}")
    if step["takes"] or len(step["gives"]) != 1 or any(step.get(key) for key in ("facts", "relations", "closes")):
        raise WrongError("what is read from the model is one value: it takes nothing and states nothing")


def parts_of(name: str, claim: dict[str, Any]) -> dict[str, str | None]:
    """The number of axes, the sizes and the elements that a claim is about."""
    dims = claim.get("dims")
    found: dict[str, str | None] = {} if dims is None else {f"{name}@rank": str(len(dims))}
    found |= {f"{name}@{axis}": dim for axis, dim in enumerate(dims or ())}
    return found | {f"{name}@e{place}": item for place, item in enumerate(claim.get("elements") or ())}


def claimed(step: dict[str, Any]) -> list[str]:
    """The claims about outputs that a lemma must prove, as formulas."""
    found: dict[str, str | None] = {}
    for at, claim in enumerate(step.get("gives", ())):
        found |= parts_of(f"out{at}", claim)
    trusted = step.get("on_trust", ())
    return [f"(= {name} {term})" for name, term in found.items() if term is not None and name not in trusted]


def terms(step: dict[str, Any], keys: Sequence[str] = ("dims", "elements")) -> list[str]:
    """The sizes and elements that a step claims."""
    parts = [part for claim in step.get("gives", ()) for key in keys for part in claim.get(key) or ()]
    return [part for part in parts if part is not None]


def symbols(text: str) -> set[str]:
    """The symbols in a term."""
    return {token for token in TOKEN.findall(text) if token not in WORDS and not token[0].isdecimal()}


class Solver:
    """A program, or a module of Python."""

    def __init__(self, name: str, seconds: float) -> None:
        words = shlex.split(name)
        self.seconds, self.module = seconds, ""
        self.command = [*words, "--incremental"] if words == ["cvc5"] else words
        if shutil.which(words[0]) is None:
            self.module = words[0]
            if importlib.util.find_spec(self.module) is None or self.module not in ("cvc5", "z3"):
                raise LookupError(f"{name} is neither a program nor one of the modules cvc5 and z3")

    def problem(self, path: Path, lemma: Lemma) -> str:
        """The fault of a lemma, if there is one."""
        if (answer := self.answer(path, self.seconds)) != "unsat":
            return f"{answer}, must be unsat"
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / path.name).write_text(lemma.hypotheses, "utf-8")
            empty = self.answer(Path(name) / path.name, min(self.seconds, 5)) == "unsat"
        return "it shows nothing: its hypotheses have no model" if empty else ""

    def answer(self, path: Path, seconds: float) -> str:
        """sat, unsat, unknown, or what went wrong."""
        if self.module == "z3":
            z3: Any = importlib.import_module(self.module)
            solver = z3.Solver()
            solver.set("timeout", round(seconds * 1000))
            solver.add(z3.parse_smt2_string(path.read_text("utf-8").replace("(check-sat)", "")))
            return str(solver.check())
        if self.module == "cvc5":
            cvc5: Any = importlib.import_module(self.module)
            cvc = cvc5.Solver()
            cvc.setOption("tlimit-per", str(round(seconds * 1000)))
            parser = cvc5.InputParser(cvc)
            parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, path.read_text("utf-8"), path.name)
            answer, names = "", parser.getSymbolManager()
            while not (command := parser.nextCommand()).isNull():
                answer = command.invoke(cvc, names).strip() or answer
            return answer
        try:
            command = [*self.command, path]
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return f"no answer in {seconds:g} s"
        lines = (done.stdout.strip() or done.stderr.strip() or "no answer").splitlines()
        return next((line for line in lines if line.startswith("(error")), lines[-1])


def chosen(name: str, seconds: float) -> Solver:
    """The solver of this name, or the first that is there."""
    for candidate in [name] if name else ["cvc5", "z3"]:
        try:
            return Solver(candidate, seconds)
        except LookupError as error:
            problem = str(error)
    raise LookupError(problem if name else "there is no solver: install cvc5 or z3, or name one with --solver")


def read(folder: Path, manifest: dict[str, Any], problems: list[str]) -> dict[str, Lemma]:
    """The lemmas whose files are those that the manifest names."""
    lemmas = {}
    for name, digest in manifest["lemmas"].items():
        try:
            content = (folder / "lemmas" / f"{name}.smt2").read_bytes()
            if hashlib.sha256(content).hexdigest() != digest:
                raise WrongError("the file is not the one that was certified: its hash differs")
            lemmas[name] = Lemma(content.decode())
        except (OSError, ValueError, WrongError) as problem:
            problems.append(f"lemmas/{name}.smt2: {problem}")
    return lemmas


def chain_problems(chain: Chain) -> list[str]:
    """The fault of the first step that does not follow, if there is one."""
    where = ""
    try:
        for number, step in enumerate(chain.steps):
            where = f"step {number}, {step.get('node', '?')}: "
            chain.step(number)
        where = ""
        chain.end()
    except (WrongError, LookupError, AttributeError, TypeError, ValueError) as problem:
        return [f"{where}{problem or type(problem).__name__}"]
    return []


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Check a certificate of absint.")
    parser.add_argument("--solver", default="", help="a program, or cvc5 or z3 as a module (default: what is there)")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a lemma (default: 60)")
    parser.add_argument("--model", type=Path, help="the model, to compare its hash alone")
    options = parser.parse_args()
    folder = Path(__file__).resolve().parent
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    if manifest.get("schema") != SCHEMA:
        print(f"manifest.json: not of {SCHEMA}")
        return 2
    problems: list[str] = []
    if options.model and hashlib.sha256(options.model.read_bytes()).hexdigest() != manifest["model"]["sha256"]:
        problems.append(f"{options.model}: not the model that was certified: its hash differs")
    lemmas = read(folder, manifest, problems)
    chain = Chain(manifest, lemmas)
    chain.known.update(manifest["inputs"])
    if not problems:
        problems += chain_problems(chain)
    try:
        solver = chosen(options.solver, options.seconds)
    except LookupError as error:
        print(error)
        return 2
    for name, lemma in lemmas.items():
        if problem := solver.problem(folder / "lemmas" / f"{name}.smt2", lemma):
            problems.append(f"lemmas/{name}.smt2: {problem}")
    for line in problems:
        print(line)
    steps = Counter(step["by"] for step in chain.steps)
    constants = sum(step["by"] == "model" and bool(step.get("operator")) for step in chain.steps)
    print(
        f"{len(lemmas)} lemmas for {steps['lemma']} steps; read from the model, not checked: "
        f"inputs and initialisers {steps['model'] - constants}, constants {constants}"
    )
    for kind in ("sizes", "requirements", "defined", "queries"):
        certified, resting, on_trust = (chain.counts[kind, how] for how in ("certified", "resting", "on trust"))
        if certified + resting + on_trust:
            print(f"{kind}: {certified} certified, {resting} rest on what is on trust, {on_trust} on trust")
    for premise in manifest["premises"]:
        print(f"premise: {premise}")
    if semantics := manifest.get("semantics"):
        print(f"semantics: {semantics}")
    print("wrong" if problems else "fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
