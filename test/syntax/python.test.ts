import { strict as assert } from "node:assert";
import { parsePython } from "../../src/syntax/python";
import { plain } from "./values";

describe("syntax: Python", () => {
  const calls = (text: string) =>
    Object.fromEntries((parsePython(text).python?.calls ?? []).map((call) => [call.callee, plain(call.keywords)]));

  it("reads keyword arguments, constants, arithmetic and names bound once", () => {
    const text = `
from transformers import TrainingArguments
MICRO = 4
common = dict(bf16=True, **{"tf32": False})
args = TrainingArguments(
    "out",
    per_device_train_batch_size=MICRO * 2,  # comment
    gradient_accumulation_steps=64 // (MICRO * 2),
    learning_rate=2e-5, neg=-1, name="a" "b",
    lists=[1, "x"], torch_dtype=torch.bfloat16,
    deepspeed={"zero_optimization": {"stage": 3}},
    **common,
)
`;
    assert.deepEqual(calls(text)["TrainingArguments"], {
      per_device_train_batch_size: 8,
      gradient_accumulation_steps: 8,
      learning_rate: 2e-5,
      neg: -1,
      name: "ab",
      lists: [1, "x"],
      torch_dtype: "bfloat16",
      deepspeed: { zero_optimization: { stage: 3 } },
      bf16: true,
      tf32: false,
    });
    assert.deepEqual(parsePython(text).python?.imports, ["transformers.TrainingArguments"]);
  });

  it("knows what each name of an import stands for", () => {
    const text =
      "import torch.nn as nn, os.path\nfrom a.b import (C as D,  # why\n  E)\nfrom . import sibling\nfrom ..up import F\n";
    const python = parsePython(text).python;
    assert.deepEqual(Object.fromEntries(python?.bound ?? []), {
      ...{ nn: "torch.nn", os: "os", D: "a.b.C", E: "a.b.E" },
      ...{ sibling: ".sibling", F: "..up.F" },
    });
    assert.deepEqual(python?.imports, ["torch.nn", "os.path", "a.b.C", "a.b.E", ".sibling", "..up.F"]);
  });

  it("says why a value is unknown instead of guessing", () => {
    const text =
      "if y:\n  x = 1\nelse:\n  x = 2\ndef f(n):\n  T(a=x, b=n, c=g(), d=f'{n}', e=1 if n else 2, f=undefined)\nfor i in y:\n  T(a=i)\n";
    const [first, second] = (parsePython(text).python?.calls ?? []).filter((call) => call.callee === "T");
    const reasons = plain(first?.keywords) as Record<string, { unknown?: string }>;
    for (const key of ["a", "b", "c", "d", "e", "f"]) assert.equal(typeof reasons[key]?.unknown, "string", key);
    assert.equal(reasons["a"]?.unknown, "`x` is assigned more than once");
    assert.equal((plain(second?.keywords) as { a: { unknown: string } }).a.unknown, "`i` is a loop variable");
  });

  it("follows argparse and dataclass defaults through their attributes", () => {
    const text = `
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--amp", action="store_true")
@dataclass
class ScriptArguments:
    max_len: int = field(default=512, metadata={"help": "x"})
SFTConfig(per_device_train_batch_size=args.batch_size, bf16=args.amp, max_length=script_args.max_len)
`;
    assert.deepEqual(calls(text)["SFTConfig"], { per_device_train_batch_size: 16, bf16: false, max_length: 512 });
    assert.deepEqual(plain(parsePython(text).python?.classes[0]?.fields), { max_len: 512 });
    const beside = parsePython("class C:\n    low, high = 1, 2\n    one = other = 3\n    a, b = pair\n").python
      ?.classes[0];
    assert.deepEqual(plain(beside?.fields), { low: 1, high: 2, one: 3, other: 3 });
  });

  it("reads what a class's body binds through the first parameter of its methods, that of classes it extends too", () => {
    const text = `
class Base:
    RATE = 16_000
    def __init__(self, n):
        self.n = n
class Clips(Base):
    SECONDS = 3
    SAMPLES = Base.RATE * SECONDS
    def get(me, other):
        return T(a=me.SAMPLES, b=me.RATE, c=other.SECONDS)
    @classmethod
    def make(cls):
        return U(a=cls.SECONDS)
    @staticmethod
    def cut(first):
        return V(a=first.SECONDS)
@dataclass
class Config:
    batch: int = 2
    def build(self):
        return W(a=self.batch)
clips = Clips(512)
X(a=clips.SECONDS)
Config(8).build()
`;
    const said = calls(text);
    const isUnknown = (value: unknown) => typeof value === "object" && value !== null && "unknown" in value;
    const { c, ...through } = said["T"] as { c: unknown };
    assert.deepEqual(through, { a: 48_000, b: 16_000 });
    assert.ok(isUnknown(c) && isUnknown((said["V"] as { a: unknown }).a));
    assert.deepEqual([said["U"], said["W"], said["X"]], [{ a: 3 }, { a: 8 }, { a: 3 }]);
  });

  it("takes a parameter's value from the first call of its function that gives one, else its default", () => {
    const text = `
SIZE = 12
def loader(data, size, *, workers=2, pin=True):
    return DataLoader(data, batch_size=size, num_workers=workers, pin_memory=pin)
class Trainer:
    def fit(self, size):
        Fit(size=size)
def later(length=64):
    Cut(length=length)
loader(held, unknown_size)
loader(train, SIZE, workers=4)
`;
    assert.deepEqual(calls(text)["DataLoader"], { batch_size: 12, num_workers: 4, pin_memory: true });
    assert.deepEqual(calls(text)["Cut"], { length: 64 });
    assert.ok("unknown" in ((calls(text)["Fit"] as { size: object }).size ?? {}));
    assert.deepEqual(calls("n = 8\ndef f(n):\n  T(n=n)\n")["T"], { n: { unknown: "`n` is a parameter" } });
    assert.ok(calls("def f(n):\n  T(n=n)\n  f(n)\n")["T"]);
  });

  it("looks into objects: fields as a mapping, namespaces, attributes by their names", () => {
    const text = `
@dataclass
class Config:
    batch: int = 2
    accum: int = 4
    dtype: str = "bfloat16"
cfg = Config(8, accum=16)
hp = SimpleNamespace(bs=3, nested=dict(x=1))
f(**asdict(cfg))
g(**vars(hp), a=cfg.__dict__["accum"])
h(a=hp.bs, b=hp.nested["x"], c=getattr(torch, cfg.dtype), d=getattr(cfg, "absent", 5), e=getattr(cfg, "batch"))
i(**vars(somebody))
`;
    const said = calls(text);
    assert.deepEqual(said["f"], { batch: 8, accum: 16, dtype: "bfloat16" });
    assert.deepEqual(said["g"], { bs: 3, nested: { x: 1 }, a: 16 });
    assert.deepEqual(said["h"], { a: 3, b: 1, c: "bfloat16", d: 5, e: 8 });
    assert.deepEqual(said["i"], {});
  });

  it("keeps where a name's value is written", () => {
    const text = "micro = 4\nT(a=micro)\n";
    const value = parsePython(text).python?.calls[0]?.keywords.entries[0]?.value;
    assert.ok(value?.kind === "scalar" && value.source !== undefined);
    assert.equal(text.slice(value.start, value.end), "micro");
    assert.equal(text.slice(value.source.start, value.source.end), "4");
  });

  it("survives self-reference, deep nesting and half-typed code", () => {
    assert.ok(parsePython("a = b\nb = a\nT(x=a)").python !== undefined);
    assert.ok(parsePython(`T(x=${"(".repeat(3000)}`).python !== undefined);
    assert.ok(parsePython(`x = ${"1+".repeat(5000)}1\nT(a=x)`).python !== undefined);
    assert.deepEqual(calls("TrainingArguments(per_device_train_batch_size=4, bf16=")["TrainingArguments"], {
      per_device_train_batch_size: 4,
      bf16: { unknown: "no value" },
    });
  });

  it("leaves out calls in branches that are known not to run", () => {
    const text = `
parser.add_argument("--use_lora", action="store_true")
if args.use_lora:
    A(1)
elif 1 == 1:
    B(1)
else:
    C(1)
if False:
    D(1)
if unknown:
    E(1)
`;
    const names = (given?: Parameters<typeof parsePython>[1]) =>
      parsePython(text, given)
        .python?.calls.map(({ callee }) => callee)
        .filter((name) => name.length === 1);
    assert.deepEqual(names(), ["B", "E"]);
    const on = { kind: "scalar" as const, value: true, raw: "", start: 999, end: 999 };
    assert.deepEqual(names(new Map([["use_lora", on]])), ["A", "E"]);
  });

  it("lists the options of a program and reads it with those that are given", () => {
    const text = `
@dataclass
class Arguments:
    name: str
    rank: int = field(default=64)
    wide: bool = False
cfg = HfArgumentParser(Arguments).parse_args_into_dataclasses()[0]
LoraConfig(r=cfg.rank, alpha=2 * cfg.rank if cfg.wide else cfg.rank, name=cfg.name)
`;
    const parsed = parsePython(text).python;
    assert.deepEqual(
      parsed?.options.entries.map(({ key, value }) => [key, value.kind]),
      [
        ["name", "unknown"],
        ["rank", "scalar"],
        ["wide", "scalar"],
      ],
    );
    const node = (value: string | number | boolean) => ({
      kind: "scalar" as const,
      value,
      raw: "",
      start: 500,
      end: 501,
    });
    const given = new Map([
      ["rank", node(8)],
      ["wide", node(true)],
      ["name", node("x")],
    ]);
    const call = parsePython(text, given).python?.calls.find(({ callee }) => callee === "LoraConfig");
    assert.deepEqual(plain(call?.keywords), { r: 8, alpha: 16, name: "x" });
    const [rank] = call?.keywords.entries ?? [];
    assert.deepEqual(rank?.value.kind === "scalar" && rank.value.source, { start: 500, end: 501 });
  });

  it("survives chains of thousands of calls, which Python itself refuses", () => {
    const chain = `x${".mean()".repeat(5000)}`;
    assert.deepEqual(parsePython(`for b in l:\n    loss = ${chain}\n    loss.backward()\n`).python?.calls, []);
  });

  it("reads a round of a loop up to the call that takes the gradients", () => {
    const loop = `import torch.nn.functional as F
for step, batch in enumerate(loader):
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = F.mse_loss(model(batch["x"]), batch["y"])
    scaler.scale(loss / 2).backward()
    if (step + 1) % 4 == 0:
        scaler.step(optimizer)
`;
    const { round, calls } = parsePython(loop).python!;
    assert.deepEqual(round?.loss?.parameters.slice(1), ["batch"]);
    assert.equal(round?.apart, false);
    const last = round?.loss?.body.at(-1);
    assert.ok(last !== undefined && "returned" in last && "operator" in last.returned);
    const every = calls.find(({ callee }) => callee === "scaler.step")?.guards?.[0]?.every;
    assert.equal(every?.kind === "scalar" && every.value, 4);
    const apart = parsePython("def step(model, batch):\n    loss = model(**batch).loss\n    loss.backward()\n").python;
    assert.equal(apart?.round?.apart, true);
  });

  it("reads the options that a module gives its own parser", () => {
    const text = 'p = P()\nargs = p.parse_args(["--lr", "0.1", "--bf16", "--name=x"])\nf(lr=args.lr, on=args.bf16)\n';
    const { written, calls } = parsePython(text).python!;
    assert.deepEqual(
      written?.map(({ key, value }) => [key, value.kind === "scalar" && value.value]),
      [
        ["lr", 0.1],
        ["bf16", true],
        ["name", "x"],
      ],
    );
    assert.deepEqual(plain(calls.find(({ callee }) => callee === "f")?.keywords), { lr: 0.1, on: true });
  });
});

describe("syntax: methods of texts in Python", () => {
  const calls = (name: string) =>
    (
      parsePython(`
name = ${name}.lower()
if name.startswith(("sgd", "nag")):
    o = SGD(p)
elif name.endswith("prop"):
    o = RMSprop(p)
elif name.strip() == "adamw":
    o = AdamW(p)
else:
    raise ValueError(name.upper())
`).python?.calls ?? []
    ).flatMap(({ callee }) => (/^[A-Z]/.test(callee) && callee !== "ValueError" ? [callee] : []));

  it("decide which branch is taken", () => {
    assert.deepEqual(calls('"SGD_nesterov"'), ["SGD"]);
    assert.deepEqual(calls('"RMSprop"'), ["RMSprop"]);
    assert.deepEqual(calls('" AdamW "'), ["AdamW"]);
  });

  it("of a text that is not known, or given what is not, decide nothing", () => {
    assert.deepEqual(calls("chosen()"), ["SGD", "RMSprop", "AdamW"]);
    const value = (call: string) =>
      plain(parsePython(`T(a=${call})`).python?.calls.find(({ callee }) => callee === "T")?.keywords);
    assert.deepEqual(value('"a,b".startswith("a")'), { a: true });
    for (const call of ['"a".startswith(x)', '"a".lower(1)', '"a".startswith("a", 1)', '"a".title()'])
      assert.notEqual(typeof (value(call) as { a: unknown }).a, "boolean", call);
  });
});

describe("syntax: parameters of Python that a caller may leave out", () => {
  const enabled = (passes: string) => {
    const text = `
def one(model, scaler=None):
    with autocast("cuda", enabled=scaler is not None):
        model(1)
scaler = GradScaler()
one(model${passes})
`;
    const call = parsePython(text).python?.calls.find(({ callee }) => callee === "autocast");
    return (plain(call?.keywords) as { enabled: unknown }).enabled;
  };

  it("are not None where a call gives them what is not known", () => {
    assert.equal(enabled(""), false);
    assert.equal(enabled(", None"), false);
    for (const given of [", scaler", ", scaler=scaler"]) assert.notEqual(typeof enabled(given), "boolean", given);
  });
});
