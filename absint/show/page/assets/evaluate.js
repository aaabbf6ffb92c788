"use strict";
// The instructions of absint/show/page/instructions.py. A part without a value is null, one over sizes that only data
// decide is undefined; both may still be settled by the parts around them. Integers are numbers as long as a double
// holds them exactly, and BigInts beyond.

function exact(big) {
  return big >= Number.MIN_SAFE_INTEGER && big <= Number.MAX_SAFE_INTEGER ? Number(big) : big;
}

function literal(written) {
  return typeof written === "number" ? written : exact(BigInt(written));
}

function sumOf(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return exact(BigInt(a) + BigInt(b));
}

function productOf(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product;
  }
  return exact(BigInt(a) * BigInt(b));
}

function truncDivided(a, b) {
  if (typeof a === "number" && typeof b === "number") return (a - (a % b)) / b + 0;
  return exact(BigInt(a) / BigInt(b));
}

function floorDivided(a, b) {
  const quotient = truncDivided(a, b);
  const isBelow = a < 0 !== b < 0 && productOf(quotient, b) !== a;
  return isBelow ? sumOf(quotient, -1) : quotient;
}

function dividedOften(a, b, times) {
  let rest = a;
  for (let k = 0; k < times && rest !== 0 && rest !== -1; k += 1) rest = floorDivided(rest, b);
  return rest;
}

const floatBits = new DataView(new ArrayBuffer(8));

function ratioOf(number) {
  // A finite float as two BigInts.
  floatBits.setFloat64(0, number);
  const bits = floatBits.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  let top = bits & 0xfffffffffffffn;
  if (exponent) top |= 1n << 52n;
  const shift = BigInt((exponent || 1) - 1075);
  if (number < 0) top = -top;
  return shift >= 0n ? [top << shift, 1n] : [top, 1n << -shift];
}

function float32Of(over, under) {
  // The float32 nearest to a quotient, rounded once.
  const near = over / under;
  if (!Number.isFinite(near)) return near;
  const [top, bottom] = ratioOf(near);
  const rest = BigInt(over) * bottom - top * BigInt(under);
  floatBits.setFloat64(0, near);
  const bits = floatBits.getBigInt64(0);
  if (rest === 0n || bits % 2n !== 0n || near === 0) return Math.fround(near);
  const isAway = rest > 0n === near > 0;
  floatBits.setBigInt64(0, bits + (isAway ? 1n : -1n));
  return Math.fround(floatBits.getFloat64(0));
}

function roundHalfEven(a) {
  const low = Math.floor(a);
  const rest = a - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
}

function floatValue(format, op, args, isAt) {
  const rounded = (a) => (Number.isNaN(a) ? null : format === "float32" ? Math.fround(a) : a);
  if (op === "number") return rounded(Number(args[0] === "inf" ? "Infinity" : args[0] === "-inf" ? "-Infinity" : args[0]));
  if (op === "of") {
    const over = isAt(args[0]);
    if (over === null || over === undefined) return over;
    if (typeof over === "bigint") return undefined; // a double would round it first
    return format === "float32" ? float32Of(over, Number(args[1])) : over / Number(args[1]);
  }
  if (op === "ite") {
    const chosen = isAt(args[0]);
    return chosen === null || chosen === undefined ? chosen : isAt(args[chosen ? 1 : 2]);
  }
  const [a, b] = args.map(isAt);
  if (a === undefined || (args.length > 1 && b === undefined)) return undefined;
  if (a === null || (args.length > 1 && b === null)) return null;
  switch (op) {
    case "cast": return rounded(a);
    case "neg": return -a;
    case "abs": return Math.abs(a);
    case "floor": return Math.floor(a);
    case "ceil": return Math.ceil(a);
    case "round": return Number.isFinite(a) ? roundHalfEven(a) : a;
    case "sqrt": return a < 0 ? null : rounded(Math.sqrt(a));
    case "max":
    case "min":
      if (a === 0 && b === 0 && !Object.is(a, b)) return null;
      return op === "max" ? Math.max(a, b) : Math.min(a, b);
    case "+": return rounded(a + b);
    case "-": return rounded(a - b);
    case "*": return rounded(a * b);
    case "/": return rounded(a / b);
    default: return undefined;
  }
}

function evaluate(program, sizes, wanted = program.table.keys(), values = new Array(program.table.length)) {
  // The values of all instructions, or of the numbers in `wanted`, each after what it needs.
  const isAt = (number) => values[number];
  for (const number of wanted) values[number] = valueOf(program.table[number], program.symbols, sizes, isAt);
  return values;
}

function valueOf(instruction, symbols, sizes, isAt) {
  const op = instruction[0];
  switch (op) {
    case "s": return sizes[symbols[instruction[1]]];
    case "n": return literal(instruction[1]);
    case "true": return true;
    case "false": return false;
    case "+": {
      let sum = 0;
      let isNull = false;
      for (let i = 1; i < instruction.length; i++) {
        const part = instruction[i];
        let product = literal(part[0]);
        for (let j = 1; j < part.length; j++) {
          const value = isAt(part[j]);
          if (value === undefined) return undefined;
          if (value === null) isNull = true;
          else product = productOf(product, value);
        }
        sum = sumOf(sum, product);
      }
      return isNull ? null : sum;
    }
    case "ite": {
      const chosen = isAt(instruction[1]);
      if (chosen === undefined) return isAt(instruction[2]) === isAt(instruction[3]) ? isAt(instruction[2]) : undefined;
      return chosen === null ? null : isAt(instruction[chosen ? 2 : 3]);
    }
    case "and":
    case "or": {
      const settles = op === "or";
      const parts = instruction.slice(1).map(isAt);
      if (parts.includes(settles)) return settles;
      return parts.includes(undefined) ? undefined : parts.includes(null) ? null : !settles;
    }
    case "broadcast": {
      const parts = instruction.slice(1).map(isAt);
      if (parts.includes(null)) return null;
      const others = new Set(parts.filter((part) => part !== 1 && part !== undefined));
      if (others.size > 1) return null;
      return others.size ? [...others][0] : parts.includes(undefined) ? undefined : 1;
    }
    case "f": return floatValue(instruction[1], instruction[2], instruction.slice(3), isAt);
    case "int": {
      const a = isAt(instruction[1]);
      if (a === undefined || a === null) return a;
      if (!Number.isFinite(a)) return null;
      const whole = BigInt(Math.trunc(a));
      return whole >= BigInt(instruction[2]) && whole <= BigInt(instruction[3]) ? exact(whole) : null;
    }
    default: break;
  }
  const args = instruction.slice(1).map(isAt);
  if (args.includes(undefined)) return undefined;
  if (args.includes(null)) return null;
  switch (op) {
    case "//": return args[1] === 0 ? null : floorDivided(args[0], args[1]);
    case "trunc": return args[1] === 0 ? null : truncDivided(args[0], args[1]);
    case "divided": return dividedOften(args[0], args[1], args[2]);
    case "max": return args.reduce((a, b) => (b > a ? b : a));
    case "min": return args.reduce((a, b) => (b < a ? b : a));
    case "==": return args[0] === 0;
    case "!=": return args[0] !== 0;
    case ">=": return args[0] >= 0;
    default: return undefined;
  }
}

function neededFor(program, roots) {
  // The numbers of the instructions that some instructions need, themselves included, in order.
  const needed = new Set();
  const pending = roots.filter((root) => root !== null);
  while (pending.length) {
    const number = pending.pop();
    if (needed.has(number)) continue;
    needed.add(number);
    const [op, ...args] = program.table[number];
    if (op === "+") pending.push(...args.flatMap((part) => part.slice(1)));
    else if (op === "int") pending.push(args[0]);
    else if (op === "f") pending.push(...(args[1] === "number" ? [] : args[1] === "of" ? [args[2]] : args.slice(2)));
    else if (op !== "s" && op !== "n") pending.push(...args);
  }
  return [...needed].sort((a, b) => a - b);
}
