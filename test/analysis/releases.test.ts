/**
 * Scripts with the Trainer on earlier releases of transformers: each was drawn and run by that release's own Trainer on fake CUDA tensors
 * whose storages were followed (`capture/truth/release_receipts.py`). What is pinned decides whose code is counted.
 */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { NEWEST } from "../../src/analysis/frameworks/versions";
import { estimate } from "../../src/core/estimate";
import { earlierGraphs } from "../../src/core/graph/earlier";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "../core/receipts/case";
import { causalRun } from "../core/runs";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface Row {
  readonly id: string;
  readonly transformers: string;
  readonly script: string;
  /** `torch.cuda.max_memory_allocated` in bytes. */
  readonly allocated: number;
}

const ROWS = rowsOf<Row>(__dirname, "releases.jsonl");

/** A step of a family's own code on a release (`capture/truth/steps.py`). */
interface Step {
  readonly family: string;
  readonly release: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly sizes: { readonly B: number; readonly S: number };
  /** Place in `WAYS`. */
  readonly way: number;
  /** Most bytes until forward ends, weights among them. */
  readonly forward: number;
}

const EXPERTS = rowsOf<Step>(__dirname, "listed-experts.jsonl");
const WAYS: readonly Partial<TrainingRun>[] = [
  { loadDtype: "float32", autocast: "bfloat16" },
  { loadDtype: "bfloat16", autocast: null, checkpointing: { useReentrant: false } as TrainingRun["checkpointing"] },
  { loadDtype: "float32", autocast: "float16" },
];

/** Pins beside transformers', of the releases that its Trainer ran with. */
const BESIDE: Readonly<Record<string, string>> = {
  "4.44": "peft==0.12.0\naccelerate==0.34.2\n",
  "4.48": "peft==0.14.0\naccelerate==1.3.0\n",
  "4.51": "peft==0.15.2\naccelerate==1.6.0\n",
  "4.57": "peft==0.17.1\naccelerate==1.10.1\n",
};

async function analysed(script: string, requirements: string) {
  const analyzer = createAnalyzer(memoryRuntime({ "train.py": script, "requirements.txt": requirements }));
  return analyzer.analyse(uri("train.py"), {});
}

const MODELS = join(__dirname, "..", "..", "models");
const STORED = readFileSync(join(MODELS, "releases", "transformers.json"), "utf8");
const LIKE = /"like":"([\w.-]+)"/.exec(STORED.slice(0, 200))?.[1];
const TABLE = LIKE === undefined ? undefined : readFileSync(join(MODELS, "parts", `${LIKE}.json`), "utf8");

describe("analysis: earlier releases of transformers", () => {
  const apart: string[] = [];
  for (const { id, transformers, script, allocated } of ROWS)
    it(`${id} on ${transformers}`, async () => {
      const [run] = (await analysed(script, `transformers==${transformers}\n${BESIDE[transformers] ?? ""}`)).runs;
      const peak = run?.perDevice?.allocatedPeakBytes ?? 0;
      const error = Math.abs(peak / allocated - 1);
      const { lowBytes = peak, highBytes = peak } = run?.perDevice?.band ?? {};
      // Where the newest models stand in, the band has the peak; its ends are of what is used, with workspaces and context.
      const standsIn = run?.assumptions.some(({ what }) => what.includes("which were not recorded")) === true;
      if (error > 0.01) apart.push(id);
      const beside = (run?.perDevice?.usedPeakBytes ?? peak) - peak;
      const inBand = lowBytes - beside <= allocated && allocated <= highBytes - beside;
      assert.ok(error <= 0.01 || (standsIn && inBand), `${(100 * error).toFixed(2)} %`);
    });

  it("are within 1 % in nine of ten scripts", () => {
    assert.ok(apart.length <= ROWS.length / 10, apart.join(", "));
  });

  it("say in the hover which release nothing pins, and whose models stand for one that was not recorded", async () => {
    const [row] = ROWS;
    assert.ok(row !== undefined);
    const hover = async (requirements: string): Promise<string> => {
      const analyzer = createAnalyzer(memoryRuntime({ "train.py": row.script, "requirements.txt": requirements }));
      const at = row.script.slice(0, row.script.indexOf("per_device_train_batch_size")).split("\n");
      const found = await analyzer.analyse(uri("train.py"), {});
      return (await found.hover(at.length - 1, at.at(-1)!.length + 2))?.markdown ?? "";
    };
    assert.match(await hover(""), new RegExp(`Assumes\\*.*transformers ${NEWEST.transformers}`));
    assert.match(
      await hover("transformers==4.47.0\n"),
      /transformers 4\.47\.0 \(its models counted as those of 4\.48\)/,
    );
    assert.doesNotMatch(await hover("transformers==4.48.3\n"), /counted as those/);
  });

  it("say in the first line of the hover where the newest models stand in, with a band for it", async () => {
    const script = ROWS[0]!.script.replaceAll("openai-community/gpt2", "ctrl").replaceAll("c_attn", "Wq");
    const first = async (requirements: string) => {
      const analyzer = createAnalyzer(memoryRuntime({ "train.py": script, "requirements.txt": requirements }));
      const found = await analyzer.analyse(uri("train.py"), {});
      const at = script.slice(0, script.indexOf("per_device_train_batch_size")).split("\n");
      const said = (await found.hover(at.length - 1, at.at(-1)!.length + 2))?.markdown.split("\n")[0] ?? "";
      return { said, band: found.runs[0]?.perDevice?.band };
    };
    const [pinned, newest] = [await first("transformers==4.48.3\n"), await first("")];
    assert.match(pinned.said, /models of transformers \S+ stand in for 4\.48\.3/);
    assert.doesNotMatch(newest.said, /stand in/);
    const width = ({ band }: typeof pinned) => (band?.highBytes ?? 0) / (band?.lowBytes ?? 1);
    assert.ok(width(pinned) > width(newest));
  });

  it("leave the newest graphs where their release is one of those, or nothing was recorded of the family", () => {
    const llama = graphsOf("llama");
    assert.equal(
      earlierGraphs(llama, STORED, TABLE, () => false),
      llama,
    );
    const fnet = graphsOf("fnet");
    assert.equal(
      earlierGraphs(fnet, STORED, TABLE, () => true),
      fnet,
    );
    assert.equal(earlierGraphs(llama, STORED, TABLE, () => true).release, "4.44");
  });

  it("are the newest ones where a step of both was found to take the same, and stand in where none was compared", async () => {
    const script = ROWS[0]!.script.replaceAll("openai-community/gpt2", "MODEL").replaceAll("c_attn", "q_proj");
    const said = async (model: string, release: string) => {
      const found = await analysed(script.replaceAll("MODEL", model), `transformers==${release}\n`);
      return found.runs[0]?.assumptions.find(({ id }) => id === "assume.release-code")?.what;
    };
    assert.equal(await said("Qwen/Qwen3-0.6B", "4.57.1"), undefined);
    assert.equal(await said("Qwen/Qwen3-0.6B", "4.55.0"), undefined);
    assert.match((await said("baidu/ERNIE-4.5-0.3B-PT", "4.57.1")) ?? "", /not recorded/);
    assert.equal(await said("Qwen/Qwen3-0.6B", "5.0.0"), undefined);
  });

  it("stand in where those of a later release are the nearest that were recorded", () => {
    const on = (release: string) => earlierGraphs(graphsOf("siglip"), STORED, TABLE, (until) => release < until);
    const own = ({ graphs }: ReturnType<typeof on>) => graphs.some(({ release }) => release !== undefined);
    assert.deepEqual([on("4.48"), on("4.51")].map(own), [false, true]);
  });

  it("are the next later release's where its own have no graph of a task and kind of attention", () => {
    const on = (release: string) =>
      earlierGraphs(graphsOf("gpt_bigcode"), STORED, TABLE, (until) => release < until).graphs.filter(
        ({ task, attention }) => task === "seq-cls" && attention === "eager",
      );
    const [own] = on("4.57").map(({ release }) => release);
    const plain = (release: string) => on(release).map(({ release: _, ...graph }) => graph);
    assert.equal(own, "4.57");
    assert.deepEqual(plain("4.48"), plain("4.57"));
    assert.notDeepEqual(plain("4.48"), plain("5.17"));
    // They stand in for those of 4.48.
    assert.deepEqual(
      on("4.48").map(({ release }) => release),
      [undefined],
    );
  });

  for (const id of ["roberta-eager", "bert-eager", "distilbert-eager", "olmo2-eager"])
    it(`run eager attention by code of their own: ${id}`, async () => {
      // BERT-like layers dropped the probabilities with the call of attention (modeling_roberta.py, `outputs = (context_layer,)`), where newer
      // ones have them until the layer ends; OLMo-2's norm was cast before its weight was multiplied (modeling_olmo2.py), not behind it.
      const { script, transformers, allocated } = ROWS.find((row) => row.id === id)!;
      const [run] = (await analysed(script, `transformers==${transformers}\n${BESIDE[transformers]}`)).runs;
      assert.ok(Math.abs((run?.perDevice?.allocatedPeakBytes ?? 0) / allocated - 1) < 0.0001);
      assert.ok(run?.assumptions.every(({ what }) => !what.includes("which were not recorded")));
    });

  it("run experts of a list one by one, of which autocast keeps a copy each (before 5.0)", () => {
    // modeling_mixtral.py, `MixtralSparseMoeBlock.forward`; rows shared out evenly. Most bytes until forward ends, of `python -m capture steps`.
    for (const { family, release, settings, sizes, way, forward } of EXPERTS) {
      const config = { model_type: family, ...settings };
      const run = causalRun({
        ...WAYS[way]!,
        model: { name: "x", family, source: "config.json", config },
        ...{ microBatchSize: sizes.B, sequenceLength: sizes.S, plainLoop: true, maxGradNorm: 0 },
        optimizer: { name: "sgd", args: {} },
      });
      const made = estimate(
        run,
        earlierGraphs(graphsOf(family), STORED, TABLE, (until) => release < until),
      );
      assert.ok(made.ok);
      const peak = made.estimate.phases.find(({ phase }) => phase === "forward")?.peakBytes ?? 0;
      // The count of words is not among the batch of one.
      assert.ok(Math.abs(peak - forward) <= 512, `${family} ${release} ${way}: ${peak} of ${forward}`);
    }
  });

  it("rotate as many values as cosines have, where queries are cut by those: since 4.51, not in 4.48", () => {
    // Five of twenty (modeling_gpt_neox.py: 4.48 cuts at `rotary_ndims`, 4.51 at `cos.shape[-1]`); half of five is rounded up.
    const sizes = { hidden_size: 80, num_attention_heads: 4, rotary_pct: 0.25, intermediate_size: 64, vocab_size: 512 };
    const config = { model_type: "gpt_neox", num_hidden_layers: 2, ...sizes };
    const run = causalRun({ model: { name: "x", family: "gpt_neox", source: "config.json", config } });
    const on = (release: string): boolean =>
      estimate(
        run,
        earlierGraphs(graphsOf("gpt_neox"), STORED, TABLE, (until) => release < until),
      ).ok;
    assert.deepEqual([on("4.48"), on("4.51")], [false, true]);
  });
});
