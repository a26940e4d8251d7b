/**
 * What the kernels of one micro-batch do, read off the event stream: every matrix product, attention, and the bytes that all
 * the other kernels read and write. Counts only; no rates. What writes into memory it already has is not seen.
 */
import { NO_KERNEL, type Work } from "../engine/labels";
import type { Ledger } from "../engine/ledger";
import type { Operators, Pass, Product, Products } from "../report/operators";

const NO_WORK: Work = {};

/** Sums up kernels. */
class Tally {
  private readonly products = new Map<
    string,
    Omit<Products, keyof Product | "times"> & { product: Product; times: number }
  >();
  private attentionFlops = 0;
  private attentionBytes = 0;
  private elementBytes = 0;
  private kernels = 0;
  private sparedKernels = 0;
  private sparedBytes = 0;

  /** @param spared scopes of the modules that a package has a kernel for; their leaf modules run as they are */
  constructor(private readonly spared: RegExp | null) {}

  /** Adds the kernel that writes a block, so many times. */
  add(ledger: Ledger, id: number, times: number): void {
    const bytes = ledger.sizeOf(id);
    const reads = ledger.readsOf(id);
    if (reads === NO_KERNEL) {
      this.elementBytes += bytes * times;
      return;
    }
    this.kernels += times;
    const moved = reads + bytes;
    const spared = this.spared?.test(ledger.scopeOf(id)) === true;
    const { product, attention } = ledger.workOf(id) ?? NO_WORK;
    if (product !== undefined) this.multiply(product, moved, times, spared);
    else if (attention !== undefined) {
      this.attentionFlops += attention * times;
      this.attentionBytes += moved * times;
    } else {
      this.elementBytes += moved * times;
      if (spared) {
        this.sparedKernels += times;
        this.sparedBytes += moved * times;
      }
    }
  }

  private multiply(product: Product, bytes: number, times: number, spared: boolean): void {
    const { count, rows, columns, inner, dtype, convolution } = product;
    const key = `${count} ${rows} ${columns} ${inner} ${dtype} ${bytes} ${convolution ?? ""} ${spared}`;
    const known = this.products.get(key);
    if (known === undefined) this.products.set(key, { product, bytes, times, spared });
    else known.times += times;
  }

  pass(): Pass {
    const { attentionFlops, attentionBytes, elementBytes, kernels } = this;
    const { sparedKernels, sparedBytes } = this;
    const products = [...this.products.values()].map(({ product, ...one }) => ({ ...product, ...one }));
    const counts = { attentionFlops, attentionBytes, elementBytes, kernels };
    return { products, ...counts, sparedKernels, sparedBytes };
  }
}

/** Adds up what the phases from `first` up to `end` run. */
function tally(ledger: Ledger, first: number, end: number, into: Tally): void {
  const { events, labelIndices, phaseList } = ledger;
  const start = phaseList[first]?.firstEvent ?? events.length;
  const stop = phaseList[end]?.firstEvent ?? events.length;
  // A label's blocks are alike: they are counted first and weighed once.
  const times = new Int32Array(ledger.labelCount);
  const blocks = new Int32Array(ledger.labelCount);
  let found = 0;
  for (let k = start; k < stop; k++) {
    const id = events[k]!;
    if (id >= 0 && times[labelIndices[id]!]!++ === 0) blocks[found++] = id;
  }
  for (const id of blocks.subarray(0, found)) {
    into.add(ledger, id, times[labelIndices[id]!]!);
  }
}

/** Products of the last step's optimizer. */
function steppingOf(ledger: Ledger): readonly Products[] {
  const at = ledger.phaseList.findLastIndex(({ phase }) => phase === "optimizer");
  const stepping = new Tally(null);
  if (at >= 0) tally(ledger, at, at + 1, stepping);
  return stepping.pass().products;
}

/** Bytes of the batch that phase `at` allocates. */
function batchBytes(ledger: Ledger, at: number): number {
  const { events, bytes, phaseList } = ledger;
  let total = 0;
  const stop = phaseList[at + 1]?.firstEvent ?? events.length;
  let first = at;
  while (phaseList[first]?.phase === "data" && phaseList[first - 1]?.phase === "data") first--;
  for (let k = phaseList[first]?.firstEvent ?? stop; k < stop; k++) {
    const id = events[k]!;
    if (id >= 0 && ledger.kindOf(id) === "inputs") total += bytes[id]!;
  }
  return total;
}

/**
 * Reads the first micro-batch of the first step, whose gradients are all made: later ones add to them.
 *
 * @param taken micro-batches whose batches come at once
 * @param spared scopes of the modules that a package has a kernel for
 */
export function operatorsOf(
  ledger: Ledger,
  { tensors, offloadedBytes, taken = 1 }: Pick<Operators, "tensors" | "offloadedBytes"> & { readonly taken?: number },
  spared: RegExp | null = null,
): Operators | null {
  const phases = ledger.phaseList;
  const isPass = (k: number): boolean => phases[k]?.phase === "forward" && phases[k + 1]?.phase === "backward";
  const at = phases.findIndex((_, k) => isPass(k));
  if (at < 0) return null;
  const [forward, backward] = [new Tally(spared), new Tally(spared)];
  tally(ledger, at, at + 1, forward);
  tally(ledger, at + 1, at + 2, backward);
  const scoring = new Tally(spared);
  let scores = false;
  for (let k = 0; k < at; k++) {
    if (phases[k]!.phase !== "forward") continue;
    scores = true;
    tally(ledger, k, k + 1, scoring);
  }
  return {
    forward: forward.pass(),
    backward: backward.pass(),
    scoring: scores ? scoring.pass() : null,
    stepping: steppingOf(ledger),
    tensors,
    offloadedBytes,
    inputBytes: batchBytes(ledger, at - 1) / taken,
  };
}
