/// <reference lib="dom" />
/**
 * One number, one wording, one source: thirty runs as every surface shows them, figure by figure. What the JSON report says is
 * what hover, picture, panel, web page, status item, tree, diagnostics, fixes, command line, SARIF, copied report and tools say.
 */
import { strict as assert } from "node:assert";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import type { ReportRun } from "../../src/core/report/schema";
import { LARGEST_ANSWER } from "../../src/core/report/tools";
import { statusText } from "../../src/extension/statusText";
import { inlayHints } from "../../src/server/hints";
import { toHover } from "../../src/server/hover";
import { pictureSvg } from "../../src/server/hoverPicture";
import { CLIENT_COMMANDS } from "../../src/server/protocol";
import { statusOf } from "../../src/server/status";
import { difference, freedBy } from "../../src/terms/sizes";
import { VERDICT_FINDINGS } from "../../src/terms/verdict-findings";
import { sentenceInMarkdown } from "../../src/words/printable";
import { uri } from "../analysis/memory-runtime";
import { LLAMA, WHOLE_RUNS } from "../analysis/whole-runs";
import { OTHERS, OWN, plain, type Shown, surfaces } from "./shown";

const GIB = 2 ** 30;
const EVERYWHERE = { start: { line: 0, character: 0 }, end: { line: 100_000, character: 0 } };
const gib = (bytes: number): string => (bytes / GIB).toFixed(1);

/** Every statement of a need in a text: used, band, usable. */
function needs(text: string): string[] {
  return [...plain(text).matchAll(/(\d+\.\d) GiB \((\d+\.\d)–(\d+\.\d)\) (?:of (\d+\.\d) usable|needed)/g)].map(
    ([all]) => all,
  );
}

/** Surfaces that need not say the need or the verdict, as they have findings alone or no room; what they do say is checked. */
const QUIET: ReadonlySet<string> = new Set(["diagnostics", "sarif", "lens"]);
const VERDICTLESS: ReadonlySet<string> = new Set(["diagnostics", "sarif", "fitting", "estimate"]);

/** Words from which on something said twice is a sentence, not a name. */
const SENTENCE = 5;

/** No surface says a sentence twice. */
function once(name: string, { hovers, texts }: Pick<Awaited<ReturnType<typeof surfaces>>, "hovers" | "texts">): void {
  const said = [
    ...hovers.map(({ lead, next, below }) => ["hover", [lead, next, below].join("\n")] as const),
    ...(["check", "diagnostics"] as const).map((surface) => [surface, texts[surface]] as const),
  ];
  for (const [surface, text] of said) {
    const sentences = plain(text)
      .split(/\n|[.;] | · /)
      .map((sentence) => sentence.trim().toLowerCase())
      .filter((sentence) => sentence.split(/\s+/).length >= SENTENCE);
    const twice = sentences.filter((sentence, index) => sentences.indexOf(sentence) !== index);
    assert.deepEqual(twice, [], `${name}: ${surface} says it twice`);
  }
}

/** Checks one run; all its surfaces agree with the report's figures. */
function agree({ name }: Shown, { analysis, run, device, hovers, texts }: Awaited<ReturnType<typeof surfaces>>): void {
  const { statement, devices } = run;
  once(name, { hovers, texts });
  const usable = devices.usableBytes ?? null;
  const range = `${gib(device.usedPeakBytes)} GiB (${gib(device.band.lowBytes)}–${gib(device.band.highBytes)})`;
  assert.ok(statement.need.startsWith(usable === null ? `${range} needed` : `${range} of ${gib(usable)} usable`), name);
  assert.equal(
    statement.short,
    usable === null ? `${gib(device.usedPeakBytes)} GiB` : `${gib(device.usedPeakBytes)} / ${gib(usable)} GiB`,
  );

  const leads = hovers.map(({ lead }) => lead).filter((lead) => lead !== "");
  assert.ok(leads.length > 0, `${name}: no hover has a verdict`);
  const said: Readonly<Record<string, string>> = { ...texts, hover: leads.join("\n") };
  for (const [surface, text] of Object.entries(said)) {
    if (!QUIET.has(surface))
      assert.ok(
        plain(text).includes(statement.need),
        `${name}: ${surface} says the need otherwise:\n${text.slice(0, 400)}`,
      );
    for (const need of needs(text))
      assert.ok(statement.need.startsWith(need), `${name}: ${surface}: ${need} is not ${statement.need}`);
    if (!VERDICTLESS.has(surface))
      assert.ok(
        text.toLowerCase().includes(statement.verdict.toLowerCase()),
        `${name}: ${surface} has another verdict`,
      );
    assert.doesNotMatch(text, /undefined|NaN|\[object/, `${name}: ${surface}`);
    // Plain text: nobody turns backticks into code there.
    if (surface === "diagnostics" || surface === "sarif" || surface === "tree")
      assert.doesNotMatch(text, /`/, `${name}: ${surface}`);
  }
  for (const surface of ["status", "lens", "tree"])
    assert.ok(said[surface]?.includes(statement.short), `${name}: ${surface}`);

  small(name, run, analysis);
  for (const { best } of hovers) assert.ok(best === undefined || best.title === run.plans[0]?.title, name);
  parts(name, device.components, said);
  marks(name, usable, hovers);
  largest(name, run, hovers, said);
  plans(name, run, said);
  known(name, run, said);
  for (const text of [texts.estimate, texts.fitting])
    assert.ok(text.length <= LARGEST_ANSWER, `${name}: ${text.length}`);
  if (run.releases?.some(({ stated }) => !stated))
    assert.doesNotMatch(texts.panel, /No assumptions|[Nn]othing is assumed/, name);
}

/** Every size with its unit is one of the report's, or what two that are shown differ by. */
function known(name: string, run: ReportRun, said: Readonly<Record<string, string>>): void {
  const bytes = [...JSON.stringify(run).matchAll(/-?\b\d{8,15}\b/g)].map(([digits]) => Math.abs(Number(digits)));
  const { usedPeakBytes = 0, reservedPeakBytes = 0, allocatedPeakBytes = 0 } = run.perDevice ?? {};
  // What the timeline calls available to PyTorch, and the allocator's cache.
  const rest = [
    (run.devices.usableBytes ?? 0) - (usedPeakBytes - reservedPeakBytes),
    reservedPeakBytes - allocatedPeakBytes,
  ];
  const stages = run.guide?.stages ?? [];
  const freed = stages.flatMap(({ items }) => items).map(freedBy(stages, usedPeakBytes));
  // What all ranks of a machine keep in its memory.
  const { pinnedBytes, pageableBytes } = run.host;
  const machine = [pinnedBytes, pinnedBytes + pageableBytes].map((kept) => kept * Math.min(run.devices.count ?? 1, 8));
  const sizes = new Set([...bytes, ...rest, ...freed, ...machine, 0].map(gib));
  const ends = [usedPeakBytes, ...run.plans.map(({ usedPeakBytes }) => usedPeakBytes)];
  const apart = new Set(
    [...ends, run.devices.usableBytes ?? 0].flatMap((a) => ends.map((b) => gib(Math.abs(difference(a, b))))),
  );
  for (const [surface, text] of Object.entries(said))
    for (const [all, figure = ""] of plain(text).matchAll(/(?<![\d.–])(\d[\d,]*\.\d) GiB/g))
      assert.ok(sizes.has(figure.replace(/,/g, "")) || apart.has(figure), `${name}: ${surface}: where is ${all} from?`);
}

/** Where there is little room: the status item's tooltip, hints beside keys, the light bulb, the tree's row. */
function small(name: string, run: ReportRun, analysis: DocumentAnalysis): void {
  const { components = [] } = run.perDevice ?? {};
  const sizes = new Set(components.map(({ kind, bytes }) => `${kind.replaceAll("-", " ")} ${gib(bytes)} GiB`));
  for (const { label } of inlayHints(analysis, EVERYWHERE, "en"))
    for (const part of String(label).split(" + ")) assert.ok(sizes.has(part), `${name}: hint ${part}`);
  const [largest] = [...components].sort((a, b) => b.bytes - a.bytes);
  const status = statusText(statusOf(analysis.uri, analysis, null, "en"), clientWords("en"));
  if (largest !== undefined)
    assert.ok(
      status?.tooltip[1]?.startsWith(`${largest.kind.replaceAll("-", " ")} ${gib(largest.bytes)}`),
      `${name}: ${status?.tooltip[1]}`,
    );
  assert.equal(status?.tooltip[0], `**${sentenceInMarkdown(`${run.statement.verdict} · ${run.statement.detail}`)}**`);
  const titles = analysis.fixes(EVERYWHERE).filter(({ code }) => VERDICT_FINDINGS.has(code));
  for (const { title } of titles)
    assert.ok(
      run.plans.some((plan) => `${plan.title} · ${plan.says}` === title) || !title.includes("GiB"),
      `${name}: the light bulb has ${title}`,
    );
}

/** A component has one size wherever it is named with one. */
function parts(
  name: string,
  components: NonNullable<ReportRun["perDevice"]>["components"],
  said: Readonly<Record<string, string>>,
): void {
  for (const { kind, bytes } of components) {
    const word = kind.replaceAll("-", " ");
    for (const surface of ["status", "check", "hover"]) {
      const lines = (said[surface] ?? "")
        .split("\n")
        .filter((line) => !line.includes("assumes") && !line.includes("|"));
      for (const [, figure] of lines.join("\n").matchAll(new RegExp(`(?:^|[ ▇·])${word} (\\d+\\.\\d)(?= |$)`, "gm")))
        assert.equal(figure, gib(bytes), `${name}: ${surface}: ${word}`);
    }
  }
}

/** Only what does not fit has a cross, in the table as in the picture, whatever the run's own verdict waits for. */
function marks(name: string, usable: number | null, hovers: Awaited<ReturnType<typeof surfaces>>["hovers"]): void {
  for (const { picture, table } of hovers) {
    const points = picture?.curve?.points ?? [];
    const svg = picture === null ? "" : pictureSvg(picture, "dark");
    for (const { bytes, fit } of points) {
      assert.equal(
        fit === "does-not-fit",
        usable !== null && bytes > usable && fit !== "tight",
        `${name}: ${gib(bytes)}`,
      );
      assert.ok(svg.includes(`>${gib(bytes)}`) && table.includes(gib(bytes)), `${name}: ${gib(bytes)} is drawn`);
    }
    const crosses = points.filter(({ fit }) => fit === "does-not-fit").length;
    assert.equal((table.match(/✗/g) ?? []).length, crosses, `${name}: ${table}`);
    assert.equal((svg.replace(/<title>.*?<\/title>/, "").match(/✗/g) ?? []).length, crosses, name);
  }
}

/** How far the run may go, by finding, hover, panel and `plan`. */
function largest(
  name: string,
  run: ReportRun,
  hovers: Awaited<ReturnType<typeof surfaces>>["hovers"],
  said: Readonly<Record<string, string>>,
): void {
  const limits = run.guide?.limits;
  assert.ok(limits !== undefined, name);
  const smallest = run.fitsOn?.find(({ fits }) => fits);
  assert.equal(limits.smallestDevice?.name, smallest?.name, `${name}: smallest GPU`);
  if (run.devices.memoryBytes === null && smallest !== undefined)
    assert.ok(run.statement.room.includes(gib(smallest.memoryBytes)), `${name}: ${run.statement.room}`);
  const inFinding = /Largest micro-batch that fits: (\d+)/.exec(said["diagnostics"] ?? "")?.[1];
  const inHover = hovers
    .map(({ next }) => /Largest that fits: \*\*(\d+)\*\*/.exec(next)?.[1])
    .find((found) => found !== undefined);
  if (inFinding !== undefined) {
    assert.equal(limits.microBatch?.value, Number(inFinding), `${name}: largest micro-batch`);
    assert.match(said["plan"] ?? "", new RegExp(`largest micro-batch ${inFinding} `), name);
    assert.ok(inHover === undefined || inHover === inFinding, `${name}: hover says ${inHover}`);
  }
  const none = /Even batch size 1 does not fit/;
  if (none.test(said["diagnostics"] ?? "")) assert.equal(limits.microBatch, null, name);
}

/** Plans have one title and one cost. */
function plans(name: string, run: ReportRun, said: Readonly<Record<string, string>>): void {
  for (const [index, plan] of run.plans.entries()) {
    assert.ok(said["plan"]?.includes(`${index + 1}. ${plan.title}   ${plan.says}`), `${name}: plan: ${plan.title}`);
    if (index < 4)
      for (const part of plan.says.split(" · ")) assert.ok(said["panel"]?.includes(part), `${name}: panel: ${part}`);
    assert.ok(plan.title.includes(gib(plan.usedPeakBytes)), `${name}: ${plan.title}`);
  }
}

describe("surfaces", () => {
  it("are thirty runs", () => assert.ok(OWN.length + OTHERS.length >= 30, String(OWN.length + OTHERS.length)));

  for (const shown of [...OWN, ...OTHERS]) {
    it(`agree on ${shown.name}`, async () => agree(shown, await surfaces(shown)));
  }

  for (const shown of OWN.filter(({ options }) => options.device !== undefined))
    it(`have one figure of each card: ${shown.name}`, async () => {
      const { analysis, run } = await surfaces(shown);
      const lines = (analysis.compare?.(run.id) ?? []).filter(({ kind }) => kind === "card");
      const short = (run.fitsOn ?? []).filter((card) => lines.some((line) => line.name === card.name));
      assert.ok(short.length > 0);
      for (const card of short) {
        const line = lines.find((one) => one.name === card.name);
        assert.equal(gib(card.usedPeakBytes ?? 0), gib(line?.usedPeakBytes ?? 0), card.name);
        assert.equal(card.verdict, line?.verdict, card.name);
      }
    });

  it("promise at a completion what the hover's curve says of the value", async () => {
    const [shown] = OWN.filter(({ options }) => options.device === "24GB");
    assert.ok(shown);
    const { analysis, hovers } = await surfaces(shown);
    const lines = (shown.files[shown.main] ?? "").split("\n");
    const at = lines.findIndex((line) => line.startsWith("per_device_train_batch_size:"));
    const items = (await analysis.complete?.(at, lines[at]?.length ?? 0)) ?? [];
    const { picture } = hovers.find((one) => one.picture?.curve?.label === "micro-batch") ?? {};
    const tried = (picture?.curve?.points ?? []).filter(({ value }) => items.some(({ label }) => label === value));
    assert.ok(tried.length > 2, `${tried.length}`);
    for (const { value, bytes, fit } of tried)
      assert.equal(
        items.find(({ label }) => label === value)?.detail,
        `${gib(bytes)} GiB${{ fits: "", unknown: "", tight: " ~", "does-not-fit": " ✗" }[fit]}`,
        value,
      );
  });

  it("lay a hover out for who sees pictures, and link to what can be done", async () => {
    const { hovers } = await surfaces(OWN[0]!);
    const found = hovers.find(({ next }) => next.includes("Largest that fits"));
    assert.ok(found);
    const context = {
      uri: uri("train.yaml"),
      commands: new Set(Object.values(CLIENT_COMMANDS)),
      markdown: true,
      locale: "en" as const,
    };
    const pictured = String((toHover(found, { ...context, pictures: "dark" }).contents as { value: string }).value);
    const lettered = String((toHover(found, { ...context, pictures: undefined }).contents as { value: string }).value);
    assert.match(pictured, /^!\[Peak 34\.0 GiB: weights/, "the finding above says the verdict");
    assert.match(pictured, /\]\(data:image\/svg\+xml;base64,[A-Za-z0-9+/=]+\)\n/);
    assert.match(pictured, /\[Set 2 × 4\]\(command:vramlens\.applyValues\?/);
    assert.match(pictured, /\[Fused cross-entropy .*same results\]\(command:vramlens\.applyBest\?/);
    assert.doesNotMatch(pictured, /▇|\|---/);
    assert.match(lettered, /^\*\*Does not fit\*\* · 34\.0 GiB/);
    assert.match(lettered, /\| \*\*34\.0 ✗\*\* \|/);
    const { value } = toHover({ ...found, saidByFinding: false }, { ...context, pictures: "light" }).contents as {
      value: string;
    };
    assert.match(value, /^\*\*Does not fit\*\*/);
  });
});

/** Sizes, times and shares in a text; whole numbers may be words in another language ("8-bit", "a quarter"). */
const figures = (text: string): string[] =>
  (plain(text).match(/[<±+−]?\s?\d[\d,]*\.\d+|[<±+−]?\s?\d[\d,]*\s?%/g) ?? [])
    .map((figure) => figure.replace(/\s/g, ""))
    .sort();

/** Ten formats that no run above has, on a card that decides. */
const FORMATS: readonly Shown[] = [
  ...["torchtune", "litgpt", "torchtitan in four", "Megatron-LM", "NeMo", "nanotron", "gpt-neox", "LLM Foundry"],
  ...["a program of the Trainer", "accelerate with FSDP", "axolotl", "LLaMA-Factory"],
].flatMap((name) => {
  const { main, text, beside, count } = WHOLE_RUNS[name]!;
  const pins = `runs:\n  - match: "${main}"\n    sequence_length: 1024\n`;
  const files = { [main]: text, "model/config.json": JSON.stringify(LLAMA), ".vramlens.yaml": pins, ...beside };
  return [{ name, files, main, options: { device: `${count > 1 ? `${count}x` : ""}12GB` } }];
});

const SCRIPT = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
import torch.nn.functional as F

class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        logits = outputs.logits[..., :-1, :].float()
        labels = inputs["labels"][..., 1:]
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))
        return (loss, outputs) if return_outputs else loss

model = AutoModelForCausalLM.from_pretrained("./model", torch_dtype="bfloat16")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, bf16=True)
Weighted(model=model, args=args, train_dataset=data).train()
`;

import { clientWords } from "../../src/words/client";

const TRAIN =
  "model_name_or_path: ./model\noutput_dir: out\nbf16: true\nper_device_train_batch_size: 4\nmax_length: 1024\n";

/** What a run may have beside its keys: a loss of its own, a release, ranks that are stated and that are not. */
const BESIDE: readonly Shown[] = (
  [
    ["a loss of its own", "train.py", { "train.py": SCRIPT }, "12GB"],
    ["a pinned release", "train.yaml", { "train.yaml": TRAIN, "requirements.txt": "transformers==4.48.3\n" }, "8GB"],
    [
      "FSDP2 ranks",
      "train.yaml",
      { "train.yaml": `${TRAIN}fsdp: full_shard\nfsdp_config:\n  fsdp_version: 2\n` },
      "4x6GB",
    ],
    [
      "ZeRO without a count",
      "train.yaml",
      {
        "train.yaml": `${TRAIN}deepspeed: ds.json\n`,
        "ds.json": '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}',
      },
      "8GB",
    ],
  ] as const
).map(([name, main, files, device]) => ({
  ...{ name, main, options: { device } },
  files: {
    ...files,
    "model/config.json": JSON.stringify(LLAMA),
    ".vramlens.yaml": "runs:\n  - sequence_length: 1024\n",
  },
}));

describe("surfaces of what a run has beside its keys", () => {
  for (const shown of BESIDE) it(`agree on ${shown.name}`, async () => agree(shown, await surfaces(shown)));
});

describe("surfaces in other formats", () => {
  for (const shown of FORMATS) it(`agree on ${shown.name}`, async () => agree(shown, await surfaces(shown)));
});

describe("surfaces in both languages", () => {
  for (const shown of [...OWN.filter((_, index) => index % 3 === 0), ...OTHERS.slice(0, 5), ...FORMATS, ...BESIDE])
    it(`have the same figures: ${shown.name}`, async () => {
      const [english, chinese] = [await surfaces(shown), await surfaces(shown, "zh-cn")];
      for (const [surface, text] of Object.entries(english.texts))
        assert.deepEqual(
          figures(chinese.texts[surface as keyof typeof chinese.texts]),
          figures(text),
          `${shown.name}: ${surface}`,
        );
      const hovered = ({ hovers }: typeof english) =>
        hovers.map(({ lead, table, next, breakdown, below }) => [lead, table, next, breakdown, below].flatMap(figures));
      assert.deepEqual(hovered(chinese), hovered(english), shown.name);
    });
});
