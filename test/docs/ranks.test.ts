/** The section of docs/verification.md on ranks of DeepSpeed's own engine, from the receipts of `capture/truth/deepspeed.py`. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { simulate } from "../../src/core/simulate";
import { graphsOf } from "../core/receipts/case";
import { runOf, type ZeroCase } from "../core/zero/case";
import { rowsOf } from "../rows";

const ROOT = path.join(__dirname, "..", "..");
const PAGE = path.join(ROOT, "docs", "verification.md");
const [BEGIN, END] = ["<!-- ranks of DeepSpeed -->", "<!-- /ranks of DeepSpeed -->"];

interface Row {
  readonly case: ZeroCase;
  readonly error: number;
}

function rows(): Row[] {
  const files = ["receipts.jsonl", "families.jsonl"];
  return files
    .flatMap((name) => rowsOf<{ case: ZeroCase; peak: number }>(ROOT, "test", "core", "zero", name))
    .map(({ case: c, peak }) => {
      const result = simulate(runOf(c), graphsOf(c.model.model_type));
      return { case: c, error: result.ok ? Math.abs(result.simulation.ledger.peak / peak - 1) : 1 };
    });
}

const percent = (value: number): string => (value < 0.00005 ? "0" : `${(100 * value).toFixed(2)}%`);

function figures(of: readonly Row[]): string {
  const errors = of.map(({ error }) => error).sort((a, b) => a - b);
  const at = (share: number): number => errors[Math.min(errors.length - 1, Math.floor(share * errors.length))]!;
  return [of.length, percent(at(0.5)), percent(at(0.95)), percent(errors[errors.length - 1]!)].join(" | ");
}

function table(title: string, all: readonly Row[], labelOf: (c: ZeroCase) => string): string[] {
  const labels = [...new Set(all.map((row) => labelOf(row.case)))].sort((a, b) =>
    a.localeCompare(b, "en", { numeric: true }),
  );
  return [
    `| ${title} | cases | allocated, median | 95th percentile | worst |`,
    "|---|--:|--:|--:|--:|",
    ...labels.map((label) => `| ${label} | ${figures(all.filter((row) => labelOf(row.case) === label))} |`),
    "",
  ];
}

function section(): string {
  const all = rows();
  return [
    BEGIN,
    "## Ranks under DeepSpeed",
    "",
    "Written by `UPDATE_DOCS=1 npx mocha test/docs/ranks.test.ts` from runs that `capture/truth/deepspeed.py` and `deepspeed_families.py` drew: DeepSpeed 0.19.8's own engine on fake",
    "CUDA tensors in a process group of N ranks, two optimizer steps, the first rank's peak. What a fake group leaves out is NCCL's own buffers.",
    "",
    ...table("all", all, () => "all"),
    ...table("stage", all, ({ zero }) => String(zero.config["stage"] ?? 0)),
    ...table("ranks", all, ({ zero }) => String(zero.world)),
    ...table("task", all, ({ task = "causal-lm" }) => task),
    ...table("precision", all, ({ zero }) => zero.precision),
    ...table("checkpointing", all, (c) =>
      c.gradient_checkpointing ? (c.use_reentrant ? "reentrant" : "non-reentrant") : "none",
    ),
    ...table("training", all, (c) => (c.peft === undefined ? "full" : "LoRA")),
    ...table("accumulation", all, (c) => String(c.grad_accum)),
    ...table("optimizer", all, ({ optim = "adamw_torch" }) => optim),
    END,
  ].join("\n");
}

describe("docs/verification.md, ranks under DeepSpeed", () => {
  it("is what the receipts give (UPDATE_DOCS=1 rewrites it)", () => {
    const page = readFileSync(PAGE, "utf8");
    const own = section();
    const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
    if (process.env["UPDATE_DOCS"])
      writeFileSync(
        PAGE,
        from < 0 ? `${page.trimEnd()}\n\n${own}\n` : page.slice(0, from) + own + page.slice(to + END.length),
      );
    else assert.equal(page.slice(from, to + END.length), own);
  });
});
