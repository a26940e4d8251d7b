/** The way a module's statements run, as far as its text says it. */
import { strict as assert } from "node:assert";
import { parsePython } from "../../src/syntax/python";
import { plain } from "./values";

/** Arguments `a` of the calls of `T`, in the order of the text. */
function seen(text: string): unknown[] {
  const calls = (parsePython(text).python?.calls ?? []).filter(({ callee }) => callee === "T");
  return calls.map(({ keywords }) => (plain(keywords) as { a?: unknown }).a);
}

const reason = (value: unknown): string => (value as { unknown?: string }).unknown ?? "";

describe("syntax: what runs in a Python module", () => {
  it("takes the binding that is in force where a name is used", () => {
    assert.deepEqual(seen("x = 1\nT(a=x)\nx = 2\nT(a=x)\n"), [1, 2]);
    assert.deepEqual(seen("x = 1\ndef f():\n  T(a=x)\nx = 2\nf()\nx = 3\n"), [2]);
    assert.deepEqual(seen("def f():\n  x = 1\n  return x\nx = 5\nT(a=f())\nT(a=x)\n"), [1, 5]);
    assert.deepEqual(seen("def f():\n  return 1, 2\nx, y = f()\nT(a=y)\n"), [2]);
  });

  it("follows what dictionaries are updated with, and keywords that are handed on", () => {
    assert.deepEqual(seen('d = {"a": 1}\nd.update(a=2)\nT(**d)\n'), [2]);
    assert.deepEqual(seen('d = dict(b=1)\nd.update({"a": 3})\nT(**d)\nd.update(a=4)\n'), [3]);
    const base = "def make(x, **over):\n  base = dict(a=1)\n  base.update(over)\n  return T(**base)\n";
    assert.deepEqual(seen(`${base}make(5, a=7)\n`), [7]);
    assert.deepEqual(seen(`${base}make(x=5)\n`), [1]);
    assert.deepEqual(seen("def make(a, **more):\n  T(**more)\nmake(1, b=2)\n"), [undefined]);
  });

  it("takes what stands in for a variable of the environment", () => {
    assert.deepEqual(seen('import os\nT(a=int(os.getenv("N") or 8))\n'), [8]);
    assert.deepEqual(seen('import os\nT(a=int(os.environ.get("N", "4") or 8))\n'), [4]);
    assert.deepEqual(seen('import os\nT(a=int(os.environ["N"]) if "N" in os.environ else 6)\n'), [6]);
    assert.match(reason(seen('import os\nT(a=1 if "LOCAL_RANK" in os.environ else 6)\n')[0]), /./);
    assert.match(reason(seen('import os\nT(a=os.getenv("N"))\n')[0]), /./);
  });

  it("takes what Lightning keeps of a module's arguments from where the module is made", () => {
    const type =
      "class Data(L.LightningDataModule):\n  def __init__(self, name, size=16):\n    self.save_hyperparameters()\n";
    const uses = "  def train_dataloader(self):\n    return T(a=self.hparams.size)\n";
    assert.deepEqual(seen(`${type}${uses}Data("x")\n`), [16]);
    assert.deepEqual(seen(`${type}${uses}Data("x", size=4)\n`), [4]);
  });

  it("tells what a step does behind its first gradients", () => {
    const keeper =
      'class Keeper:\n  def __init__(self, model):\n    self.model, self.kept = model, {}\n  def save(self, name="emb"):\n    for n, p in self.model.named_parameters():\n      if p.requires_grad and name in n:\n        self.kept[n] = p.data.clone()\n  def back(self):\n    for n, p in self.model.named_parameters():\n      if n in self.kept:\n        p.data = self.kept[n]\n    self.kept = {}\n';
    const loop = (body: string) =>
      parsePython(
        `${keeper}keeper = Keeper(model)\nfor b in data:\n  model(**b).loss.backward()\n${body}  optimizer.step()\n`,
      ).python?.round?.further;
    const pass = "  model(**b).loss.backward()\n";
    const keep = { do: "keep", of: "weights", into: "made0.kept", named: ["emb"] };
    const forget = { do: "forget", from: "made0.kept" };
    assert.deepEqual(loop(`  keeper.save()\n${pass}  keeper.back()\n`), [keep, { do: "pass" }, forget, forget]);
    const rounds = `  K = 2\n  for t in range(K):\n    if t == K - 1:\n      model.zero_grad()\n  ${pass}`;
    assert.deepEqual(loop(rounds), [{ do: "pass" }, { do: "zero" }, { do: "pass" }]);
    assert.equal(loop(""), undefined);
    // Gradients of one forward, and rounds that nobody knows.
    assert.equal(loop("  loss.backward()\n"), undefined);
    assert.equal(loop(`  for t in others:\n  ${pass}`), undefined);
  });

  it("leaves out what never runs", () => {
    assert.deepEqual(seen("if False:\n  T(a=1)\nelse:\n  T(a=2)\n"), [2]);
    assert.deepEqual(seen("def f():\n  T(a=1)\n  return\n  T(a=2)\nf()\n"), [1]);
    assert.deepEqual(seen("import sys\nT(a=1)\nsys.exit(0)\nT(a=2)\n"), [1]);
    assert.deepEqual(seen("try:\n  T(a=1)\nexcept ImportError:\n  T(a=2)\n"), [1]);
    assert.deepEqual(seen("FLAG = True\nT(a=3 if FLAG and not None else T(a=4))\n"), [3]);
    assert.deepEqual(seen("A = B = False\nif not A and B:\n  T(a=1)\nelif f() or not B:\n  T(a=2)\n"), [2]);
    assert.deepEqual(seen('if __name__ == "__main__":\n  T(a=1)\n'), [1]);
  });

  it("joins what branches bind where their condition is not known", () => {
    const [value] = seen("if flag():\n  x = 1\nelse:\n  x = 2\nT(a=x)\n");
    assert.equal(reason(value), "`x` is assigned more than once");
    assert.deepEqual(seen("if flag():\n  x = 1\nelse:\n  x = 1\nT(a=x)\n"), [1]);
    assert.deepEqual(seen("if flag():\n  raise ValueError\nelse:\n  x = 2\nT(a=x)\n"), [2]);
  });

  it("does not take the first round of a loop for all of them", () => {
    const text = "step = 0\nfor b in data:\n  if step == 4:\n    T(a=1)\n  step += 1\n";
    assert.deepEqual(seen(text), [1]);
    assert.deepEqual(seen("def f(n):\n  if n > 2:\n    T(a=n)\nf(1)\nf(4)\n").length, 1);
    assert.deepEqual(seen("def f(n):\n  if n > 2:\n    T(a=n)\nf(1)\n"), []);
  });

  it("decides by an option's default, unless nothing is trained then", () => {
    const option = (more: string) => `parser.add_argument("--x", action="store_true")\n${more}`;
    assert.deepEqual(seen(option("if args.x:\n  T(a=1)\nelse:\n  T(a=2)\n")), [2]);
    assert.deepEqual(seen(option("if args.x:\n  T(a=1)\n  trainer.train()\n")), [1]);
  });

  it("orders calls as they run and says on what they depend", () => {
    const text =
      'def f():\n  A()\nB()\nif "lora" in name:\n  f()\nfor name in NAMES:\n  if name.startswith("x"):\n    C()\n';
    const calls = parsePython(text).python?.calls ?? [];
    const byName = new Map(calls.map((call) => [call.callee, call]));
    const order = ["B", "A", "C"].map((name) => byName.get(name)?.order ?? -1);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    const [guard] = byName.get("C")?.guards ?? [];
    assert.deepEqual(guard?.test, {
      kind: "or",
      tests: [{ kind: "text", how: "begins", text: "x", subject: byName.get("C")?.guards?.[0] && subject(text) }],
    });
  });

  it("follows the way from a name to a part of its object", () => {
    const text =
      "model = make()\nbody = model.bert\nfor layer in body.encoder.layer[:4]:\n  for p in layer.parameters():\n    p.requires_grad = False\n";
    const [effect] = parsePython(text).python?.effects ?? [];
    assert.equal(effect?.attribute, "requires_grad");
    assert.equal(effect?.path.root, "model");
    assert.deepEqual(effect?.path.steps, [
      { kind: "attribute", name: "bert" },
      { kind: "attribute", name: "encoder" },
      { kind: "attribute", name: "layer" },
      { kind: "items", from: 0, to: 4 },
      { kind: "each", element: 0, names: 1 },
      { kind: "call", name: "parameters" },
      { kind: "each", element: 0, names: 1 },
    ]);
  });
});

/** The way to the only loop variable of a text. */
function subject(text: string): unknown {
  const start = text.indexOf("NAMES");
  const object = {
    kind: "unknown",
    raw: "NAMES",
    reason: { id: "open.undefined", args: { name: "NAMES" } },
    start,
    end: start + 5,
  };
  return { root: "NAMES", object, steps: [{ kind: "each", element: 0, names: 1 }] };
}
