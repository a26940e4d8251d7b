/**
 * Estimates against known peaks, by model family and technique; writes docs/accuracy.md and the README's table.
 *
 * usage: npm run accuracy [-- RESULTS.jsonl]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceBlock } from "./blocks";
import { MemoryFiles, memoryRuntime } from "./memory";
import { documentsOf, type KnownPeak, readKnownPeaks, resultsFile } from "./oracle";
import { quantile } from "./quantile";
import { referenceAnalyzer } from "./reference";

const root = join(__dirname, "..");
const WORST = 15;

/** What the summary says, by the page it stands in. */
interface Wording {
  readonly head: string;
  readonly all: string;
  readonly said: (equal: number, of: number, below: number) => string;
}

const ENGLISH: Wording = {
  head: "| all cases | cases | allocated, median | 95th percentile | worst | reserved, median |",
  all: "all",
  said: (equal, of, below) =>
    `Equal to the byte: the allocated peak in ${equal} of ${of} cases; the stated upper bound was below the truth in ${below}.`,
};

const READMES: Readonly<Record<string, Wording>> = {
  "README.md": ENGLISH,
  "README.zh-CN.md": {
    head: "| 全部用例 | 用例数 | 已分配，中位数 | 第 95 百分位 | 最差 | 已预留，中位数 |",
    all: "全部",
    said: (equal, of, below) =>
      `${of} 个用例中有 ${equal} 个的已分配峰值与真值逐字节相等；给出的上限低于真值的有 ${below} 个。`,
  },
};

interface Scored {
  readonly known: KnownPeak;
  /** Relative errors, signed; null when there is no estimate. */
  readonly allocated: number | null;
  readonly reserved: number | null;
  /** Whether the stated bound was below what was reserved. */
  readonly boundBelow: boolean;
}

/** The families whose graphs are captured; the others are counted, not scored. */
function isEstimated(one: Scored): one is Scored & { readonly allocated: number; readonly reserved: number } {
  return one.allocated !== null && one.reserved !== null;
}

function percent(value: number): string {
  if (value === 0) return "0";
  return `${(100 * value).toFixed(value < 0.001 ? 4 : 2)} %`;
}

function signed(value: number): string {
  if (value === 0) return "exact";
  return `${value >= 0 ? "+" : "−"}${percent(Math.abs(value))}`;
}

async function score(known: readonly KnownPeak[]): Promise<readonly Scored[]> {
  const files = new MemoryFiles();
  const analyzer = referenceAnalyzer(memoryRuntime(files));
  const scored: Scored[] = [];
  for (const one of known) {
    const folder = `file:///cases/${one.case.id}`;
    for (const [name, text] of Object.entries(documentsOf(one.case))) files.write(`${folder}/${name}`, text);
    const { runs } = (await analyzer.analyse(`${folder}/train.yaml`, { plans: false })).report;
    const peak = runs[0]?.perDevice;
    const ratio = (ours: number, truth: number): number => ours / truth - 1;
    scored.push({
      known: one,
      allocated: peak ? ratio(peak.allocatedPeakBytes, one.result.peak_allocated) : null,
      reserved: peak ? ratio(peak.reservedPeakBytes, one.result.peak_reserved) : null,
      boundBelow: peak ? peak.band.highBytes < one.result.peak_reserved : false,
    });
  }
  return scored;
}

/** One row of a table: how many, and the errors of both peaks. */
function row(label: string, part: readonly Scored[]): string {
  const estimated = part.filter(isEstimated);
  if (estimated.length === 0) return `| ${label} | 0 of ${part.length} | | | | |`;
  const allocated = estimated.map((one) => Math.abs(one.allocated));
  const reserved = estimated.map((one) => Math.abs(one.reserved));
  const cells = [quantile(allocated, 0.5), quantile(allocated, 0.95), Math.max(...allocated), quantile(reserved, 0.5)];
  const count = estimated.length === part.length ? String(part.length) : `${estimated.length} of ${part.length}`;
  return `| ${label} | ${count} | ${cells.map(percent).join(" | ")} |`;
}

const RULE = "|---|---|---|---|---|---|";
const HEAD = `| cases | allocated, median | 95th percentile | worst | reserved, median |\n${RULE}`;

function tableBy(title: string, scored: readonly Scored[], labelOf: (one: KnownPeak["case"]) => string): string {
  const groups = new Map<string, Scored[]>();
  for (const one of scored) {
    const label = labelOf(one.known.case);
    groups.set(label, [...(groups.get(label) ?? []), one]);
  }
  const rows = [...groups].sort(([a], [b]) => a.localeCompare(b)).map(([label, part]) => row(label, part));
  return `| ${title} ${HEAD}\n${rows.join("\n")}`;
}

function technique({ peft, quant }: KnownPeak["case"]): string {
  if (quant) return `${quant.type} + ${peft?.dora ? "DoRA" : "LoRA"}`;
  return peft ? (peft.dora ? "DoRA" : "LoRA") : "full fine-tune";
}

/** The cases that are not exact, worst first. */
function worst(scored: readonly Scored[]): string {
  const inexact = scored.filter(isEstimated).filter((one) => one.allocated !== 0 || one.reserved !== 0);
  if (inexact.length === 0) return "None: every estimate is exact.";
  const rows = inexact
    .sort((a, b) => Math.abs(b.allocated) - Math.abs(a.allocated) || Math.abs(b.reserved) - Math.abs(a.reserved))
    .slice(0, WORST)
    .map((one) => {
      const { id, model } = one.known.case;
      const truth = (one.known.result.peak_allocated / 2 ** 30).toFixed(2);
      return `| ${id} | ${model.model_type} | ${truth} GiB | ${signed(one.allocated)} | ${signed(one.reserved)} |`;
    });
  return `| case | family | true peak | allocated | reserved |\n|---|---|---|---|---|\n${rows.join("\n")}`;
}

/** The figures in short. */
function summary(scored: readonly Scored[], words = ENGLISH): string {
  const estimated = scored.filter(isEstimated);
  const below = estimated.filter((one) => one.boundBelow).length;
  const equal = estimated.filter((one) => one.allocated === 0).length;
  return [words.head, RULE, row(words.all, scored), "", words.said(equal, estimated.length, below)].join("\n");
}

function page(scored: readonly Scored[]): string {
  return `# Accuracy

Written by \`npm run accuracy\`; do not edit.

Every case is a training run whose true peak is known: PyTorch, transformers and peft themselves train the model for two
optimizer steps on fake CUDA tensors, and every allocation is followed. "Allocated" is
\`torch.cuda.max_memory_allocated\`, "reserved" is \`torch.cuda.max_memory_reserved\`. Errors are relative to the truth.
No constant of the estimator is fitted to these cases. The reference's loop is plain PyTorch, and so is the estimate's here: each
micro-batch is let go before the next, where transformers' Trainer holds those of a step (scripts that the Trainer itself ran
are in \`test/analysis/scripts\`). What fake tensors leave out (library workspaces, the CUDA
context, temporaries inside one kernel) is in the band, not in these figures; real cards are in
[published-memory.md](published-memory.md). A family whose graph is not captured yet gets no estimate, and is counted as
such. Runs that are drawn anew before each release, over every family, are in [verification.md](verification.md).

${summary(scored)}

## By model family

${tableBy("family", scored, (one) => one.model.model_type)}

## By technique

${tableBy("technique", scored, technique)}

## By precision

${tableBy("autocast / weights", scored, (one) => `${one.amp ?? "none"} / ${one.load_dtype ?? "bfloat16"}`)}

## By attention

${tableBy("attention", scored, (one) => one.attn ?? "sdpa")}

## By checkpointing

${tableBy("checkpointing", scored, (one) => (one.gradient_checkpointing ? "on" : "off"))}

## By optimizer

${tableBy("optimizer", scored, (one) => one.optim ?? "adamw_torch_fused")}

## Cases that are not exact, at most the ${WORST} worst

${worst(scored)}
`;
}

async function main(): Promise<void> {
  const file = resultsFile(process.argv[2]);
  if (file === undefined) {
    console.log("no known peaks: give a RESULTS.jsonl or set VRAM_LENS_ORACLE");
    return;
  }
  const started = performance.now();
  const scored = await score(readKnownPeaks(file));
  writeFileSync(join(root, "docs", "accuracy.md"), page(scored));
  for (const [readme, words] of Object.entries(READMES)) {
    const path = join(root, readme);
    writeFileSync(path, replaceBlock(readFileSync(path, "utf8"), "accuracy", summary(scored, words)));
  }
  console.log(summary(scored));
  console.log(worst(scored));
  console.log(`${((performance.now() - started) / scored.length).toFixed(1)} ms a case`);
}

main();
