/** Files that are small and stand for something that is not: what they say doubles, or meets everything else they say. */
import type { Seed } from "./seeds";

/** Lines made of their numbers. */
function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => `${line(index)}\n`).join("");
}

function python(text: string, value: string): Seed {
  const run = `args = TrainingArguments(output_dir=${value}, per_device_train_batch_size=4)\nTrainer(model=model, args=args).train()\n`;
  const load = 'model = AutoModelForCausalLM.from_pretrained("none/such")\n';
  return { main: "train.py", files: { "train.py": `${text}${load}${run}` } };
}

const command = (value: string): string =>
  `accelerate launch train.py --model_name_or_path none/such --per_device_train_batch_size 4 --output_dir ${value}\n`;

function shell(text: string, value: string): Seed {
  return { main: "run.sh", files: { "run.sh": `${text}${command(value)}` } };
}

function makefile(text: string, value: string): Seed {
  return { main: "Makefile", files: { Makefile: `${text}train:\n\t${command(value)}` } };
}

function notebook(cells: readonly string[]): Seed {
  const all = cells.map((source) => ({ cell_type: "code", source, outputs: [], metadata: {}, execution_count: null }));
  const text = JSON.stringify({ cells: all, metadata: {}, nbformat: 4, nbformat_minor: 5 });
  return { main: "train.ipynb", files: { "train.ipynb": text } };
}

function interpolated(text: string): Seed {
  const run = "model_name_or_path: none/such\noutput_dir: o\nper_device_train_batch_size: 2\n";
  return { main: "train.yaml", files: { "train.yaml": `${run}${text}lora: \${a}\n` } };
}

/** Doublings: each is beyond any memory where it is followed. */
const DOUBLINGS = 60;
const NESTED = 4096;

/** What grows by itself, whatever its size in the file. */
export const DOUBLING: Readonly<Record<string, Seed>> = {
  "a text": python(`x = "abc"\n${lines(DOUBLINGS, () => "x = x + x")}`, "x"),
  "a format": python(`x = "abc"\n${lines(DOUBLINGS, () => 'x = f"{x}{x}"')}`, "x"),
  "a list": python(`x = [1]\n${lines(DOUBLINGS, () => "x = [x, x]")}`, "x"),
  "a dictionary": python(`x = {"a": 1}\n${lines(DOUBLINGS, (k) => `x = {"a${k}": x, "b${k}": x}`)}`, "x"),
  "a spread": python(`x = {"a": 1}\n${lines(DOUBLINGS, () => "x = {**x, **x}")}f(**x, **x)\n`, '"o"'),
  "a dict call": python(`x = dict(a=1)\n${lines(DOUBLINGS, () => "x = dict(x, **x)")}f(**x)\n`, '"o"'),
  "a choice": python(
    `x = 1\ny = 2\n${lines(DOUBLINGS, (k) => `x, y = (x if c${k} else y), (y if d${k} else x)`)}`,
    "x",
  ),
  "a branch": python(`x = 1\ny = 2\n${lines(DOUBLINGS, (k) => `if c${k}:\n    x = y\nelse:\n    y = x`)}`, "x"),
  "a chain of calls": python(
    `${lines(DOUBLINGS, (k) => `def f${k}(a, b):\n    return f${k + 1}(f${k + 1}(a, b), f${k + 1}(b, a))`)}`,
    'f0("a", "b")',
  ),
  "wrapped models": python(
    `m = 1\n${lines(DOUBLINGS, (k) => `m = w${k}(m, model=w(m))`)}Trainer(model=m).train()\n`,
    '"o"',
  ),
  "ranges of ranges": python(`x = [range(${NESTED}) for i in range(${NESTED})]\n`, "x"),
  "nested comprehensions": python(
    `x = [[[i for i in range(${NESTED})] for j in range(${NESTED})] for k in range(${NESTED})]\n`,
    "x",
  ),
  "a variable": shell(`A=aa\n${lines(DOUBLINGS, () => "A=$A$A")}`, "$A"),
  "a variable that is appended": shell(`A=aa\n${lines(DOUBLINGS, () => "A+=$A")}`, "$A"),
  "words of a variable": shell(`A="--a 1"\n${lines(DOUBLINGS, () => 'A="$A $A"')}`, "o $A"),
  "an array as one word": shell(`A=(a b)\n${lines(DOUBLINGS, () => `A="\${A[*]} \${A[*]}"`)}`, "$A"),
  "fallbacks in fallbacks": shell(`A=${"${A:-".repeat(5000)}1${"}".repeat(5000)}\n`, "$A"),
  "a make variable": makefile(`A := aa\n${lines(DOUBLINGS, () => "A := $(A)$(A)")}`, "$(A)"),
  "a make variable that is appended": makefile(`A := aa\n${lines(DOUBLINGS, () => "A += $(A)")}`, "$(A)"),
  "an interpolation of what holds it": interpolated(`a:\n  x: \${a}\n`),
  "interpolations of one another": interpolated(`a:\n  x: \${b}\nb:\n  y: \${a}\n  z: \${a}\n`),
  "interpolated texts": interpolated(`a0: aaaa\n${lines(DOUBLINGS, (k) => `a${k + 1}: \${a${k}}\${a${k}}`)}`),
  "bases of bases": {
    main: "c0.py",
    files: Object.fromEntries(
      Array.from({ length: DOUBLINGS }, (_, k) => [
        `c${k}.py`,
        `_base_ = ["./c${k + 1}.py", "./c${k + 1}.py"]\nmodel = dict(type="x")\ntrain_dataloader = dict(batch_size=2)\n`,
      ]),
    ),
  },
};

/** What meets everything else in its file: a file of the largest size that is read takes no more than its length. */
export const MEETING: Readonly<Record<string, Seed>> = {
  "unclosed calls": python("", `${"f(".repeat(60_000)}`),
  "calls of calls": python("", `a${".b()".repeat(50_000)}`),
  "names and branches": python(`${lines(8000, (k) => `a${k} = 1`)}${lines(8000, (k) => `if c:\n b = ${k}`)}`, "b"),
  "one name in branches": python(
    lines(6000, (k) => `if a${k}:\n x = ${k}\nf(x)`),
    "x",
  ),
  "a long elif": python(`if a: x = 1\n${lines(10_000, (k) => `elif a${k}: x = ${k}`)}`, "x"),
  "what never runs": python(
    lines(12_000, (k) => `if 0: a${k}`),
    '"o"',
  ),
  "functions and calls": python(
    `${lines(6000, (k) => `def f${k}(x): return x`)}${lines(6000, (k) => `f${k}(${k})`)}`,
    "f5999(1)",
  ),
  "calls and parameters": python(
    `def f(a, b, c, d):\n${lines(2000, () => " k(a, b, c, d)")}${lines(4000, (k) => `f(1, 2, 3, ${k})`)}`,
    '"o"',
  ),
  "classes and fields": python(
    `class C:\n${lines(4000, (k) => ` a${k}: int = ${k}`)}c = C()\n${lines(5000, (k) => `f(c.a${k % 4000})`)}`,
    "c.a1",
  ),
  "items put one by one": python(`d = {}\n${lines(8000, (k) => `d["a${k}"] = d["a${k - 1}"]`)}f(**d)\n`, 'd["a1"]'),
  "trainers and arguments": python(
    lines(1500, () => 'args = TrainingArguments(output_dir="o")\nTrainer(model=model, args=args).train()'),
    '"o"',
  ),
  "rules and weights": python(
    `for n, p in model.named_parameters():\n${lines(1500, (k) => `    if "a${k}" in n: p.requires_grad = False`)}`,
    '"o"',
  ),
  "interpolated maps": interpolated(`a:\n${lines(3000, (k) => `  x${k}: ${k}`)}${lines(3000, (k) => `b${k}: \${a}`)}`),
  "many ranges": python(
    lines(10_000, (k) => `x${k} = range(${NESTED})`),
    "x1",
  ),
  "words of words": shell(`A="${"a ".repeat(20_000)}"\necho ${"$A".repeat(30_000)}\n`, "$A"),
  "an array many times": shell(`A=(${"a ".repeat(15_000)})\n${lines(3000, () => `B="\${A[*]}"`)}`, "$B"),
  "exported variables": shell(`${lines(5000, (k) => `export A${k}=${k}`)}${command("o").repeat(300)}`, "o"),
  "commands in cells": notebook(Array.from({ length: 2000 }, () => `!${command("o")}%cd x\n`)),
};
