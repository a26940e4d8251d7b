/**
 * Sharded runs against the libraries: receipts of `python -m capture.truth.ranks`, which runs accelerate's own FSDP2, `fully_shard` by layers
 * and FSDP1, each with its shards on the device and on the host, torch's DistributedDataParallel, transformers' tensor parallelism and torch's context parallelism, on fake CUDA tensors under a fake process group.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { reservedPeak } from "../../src/core/allocator/replay";
import { type Case, receiptsOf, simulatedAs } from "./receipts/case";

const KINDS = [
  "fsdp2",
  "blocks",
  "fsdp1",
  "fsdp2-offload",
  "blocks-offload",
  "fsdp1-offload",
  "fsdp1-saved",
  "fsdp2-saved",
  "fsdp2-evaluated",
  "fsdp1-evaluated",
  "fsdp1-packed",
  "fsdp2-packed",
  "fsdp1-more",
  "fsdp2-more",
  "fsdp2-unsplit",
  "fsdp1-families",
  "fsdp2-families",
  "fsdp2-experts",
  "fsdp1-experts",
  "tensor",
  "tensor-more",
  "tensor-routed",
  "tensor-experts",
  "context",
  "exchange",
  "pipeline",
  "pipeline-sharded",
  "pipeline-interleaved",
  "pipeline-bubbles",
  "ddp",
  "ddp-packed",
  "ddp-compressed",
  "replicas",
];

/** Receipts that agree on reserved bytes, at least; the large blocks of what waits in a pipeline are one here and many there. */
const SAME_RESERVED: Readonly<Record<string, number>> = {
  pipeline: 0.65,
  "pipeline-interleaved": 0.3,
  "pipeline-bubbles": 0.2,
};

/** Schedules that take backwards in halves. */
const HALVING: ReadonlySet<string> = new Set(["InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]);

/** Rows that are further off than others, by how much, all of them in what the whole model gathers at once. */
const FURTHER_OFF: Readonly<Record<string, number>> = {
  "fsdp1-lilt-2": 0.014,
  "fsdp1-llava_next-1": 0.004,
  "fsdp2-layoutlmv3-1": 0.001,
  "fsdp2-markuplm-1": 0.001,
};

/** Scalars that no rule counts, in models of megabytes, and views of parameters that stay whole while layers are recomputed. */
function tolerance({ id, ranks, gradient_checkpointing: recomputes }: Case): number {
  if (FURTHER_OFF[id] !== undefined) return FURTHER_OFF[id];
  const staysWhole = ranks?.strategy === "SHARD_GRAD_OP" && (recomputes === true || ranks.activation_checkpointing);
  // The order of gradients, which the reducer's buckets follow, is only much that of the parameters turned round.
  if (ranks?.kind === "ddp") return 0.001;
  // Blocks of the losses' vector.
  if (ranks?.kind === "replicas") return 0.0005;
  // A router's marks of other ranks' tokens; gradients of a single expert are copied once more.
  if (ranks?.by_experts === true) return 0.004;
  // A micro-batch of all stages of a rank stands for one of each.
  if (ranks?.schedule !== undefined && HALVING.has(ranks.schedule)) return 0.03;
  if (ranks?.stages !== undefined) return 0.02;
  // Labels of a stage are not shifted by its own loss.
  if (ranks?.kind === "pipeline") return 0.002;
  return staysWhole ? 0.001 : 0.0003;
}

const AFTERWARDS: ReadonlySet<string> = new Set(["evaluation", "saving"]);

describe("sharded runs", () => {
  for (const kind of KINDS)
    it(`${kind} as the library`, () => {
      assert.ok(existsSync(path.join(__dirname, "receipts", "ranks", `${kind}.jsonl`)));
      const wrong: string[] = [];
      let same = 0;
      const receipts = receiptsOf(`ranks/${kind}`);
      for (const { case: c, result } of receipts) {
        const simulated = simulatedAs(c);
        assert.ok(simulated.ok, c.id);
        const { ledger, loadedEvents } = simulated.simulation;
        const off = Math.abs(ledger.peak - result.peak_allocated);
        if (off > tolerance(c) * result.peak_allocated)
          wrong.push(`${c.id}: ${ledger.peak} instead of ${result.peak_allocated}`);
        // What comes after the steps may take less than they do: its own peak is looked at, too.
        for (const { phase, peak } of ledger.phaseList) {
          const said = result.phase_peaks[phase];
          if (AFTERWARDS.has(phase) && said !== undefined && Math.abs(peak - said) > tolerance(c) * said)
            wrong.push(`${c.id}: ${peak} instead of ${said} in ${phase}`);
        }
        if (reservedPeak(ledger, loadedEvents) === result.peak_reserved) same++;
      }
      assert.deepEqual(wrong, []);
      assert.ok(
        same >= (SAME_RESERVED[kind] ?? 0.85) * receipts.length,
        `${same} of ${receipts.length} agree on reserved bytes`,
      );
    });
});
