/**
 * Tensor parallelism whose residual stream lies split along the sequence: it is gathered before matrices that are split by columns, and
 * scattered behind those split by rows. Both go along the first dimension: the whole is copied once more (torch/distributed/_functional_collectives.py,
 * all_gather_tensor, reduce_scatter_tensor). Source: torch/distributed/tensor/parallel/style.py; torchtitan/models/llama3/infra/parallelize.py.
 */
import type { ModuleHooks } from "../../../engine/module-hooks";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { SequencePlan } from "../../specs/parallel";

/** The last part of a module's path. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Whether what a module's code makes of the stream's size is all of it: sums over ranks, and gradients of what was gathered. */
export function isWhole(torch: Torch, { columns, rows }: SequencePlan): boolean {
  const name = nameOf(torch.scope);
  const differentiates = torch.finalCallbacks !== null && !torch.gradEnabled;
  return differentiates ? columns.includes(name) : rows.includes(name);
}

/** A tensor of which this rank has a part. */
function inParts(torch: Torch, operator: string, { sizes, dtype }: Tensor, parts: number): Tensor {
  const { share } = torch;
  torch.share = () => parts;
  const tensor = torch.empty(operator, sizes, dtype);
  torch.share = share;
  return tensor;
}

/** Booked as the collective's buffer. */
function asBuffer(torch: Torch, make: () => Tensor): Tensor {
  const { kind } = torch;
  torch.kind = "communication";
  const tensor = make();
  torch.kind = kind;
  return tensor;
}

/** All ranks' tokens. */
function gathered(torch: Torch, tensor: Tensor): Tensor {
  const parts = asBuffer(torch, () => inParts(torch, "all_gather_into_tensor", tensor, 1));
  const all = inParts(torch, "cat", tensor, 1);
  parts.release();
  return all;
}

/** This rank's tokens of the sum over ranks. */
function scattered(torch: Torch, tensor: Tensor, degree: number): Tensor {
  const parts = asBuffer(torch, () => inParts(torch, "cat", tensor, 1));
  const own = inParts(torch, "reduce_scatter_tensor", tensor, degree);
  parts.release();
  return own;
}

type Exchange = typeof scattered;

function exchanged(torch: Torch, tensor: Tensor, degree: number, [forward, backward]: readonly Exchange[]): Tensor {
  const node = torch.record("RedistributeBackward", [tensor], (torch, [gradient]) => [
    gradient == null ? null : backward!(torch, gradient, degree),
  ]);
  const made = forward!(torch, tensor, degree);
  tensor.release();
  return node === null ? made : torch.attach(node, made);
}

/** Hooks of a model's matrices, inside those of what is around it; modules that are given the same one after another share what is gathered. */
export function aroundSequences(
  inner: ModuleHooks | undefined,
  { columns, rows }: SequencePlan,
  degree: number,
): ModuleHooks {
  let last: { readonly given: Tensor["storage"]; readonly made: Tensor } | null = null;
  const forget = (): void => {
    last?.made.release();
    last = null;
  };
  const wraps = inner?.wrap?.bind(inner);
  return {
    ...(inner?.aroundCheckpoints === undefined ? {} : { aroundCheckpoints: inner.aroundCheckpoints }),
    ...(inner?.checkpointsAdapters === undefined ? {} : { checkpointsAdapters: inner.checkpointsAdapters }),
    ...(wraps === undefined ? {} : { wrap: wraps }),
    has: (path) => columns.includes(nameOf(path)) || rows.includes(nameOf(path)) || inner?.has(path) === true,
    before(torch, path, inputs) {
      const given = inner?.has(path) ? inner.before(torch, path, inputs) : [...inputs];
      const [input, ...rest] = given;
      const gathers = input != null && columns.includes(nameOf(path));
      const shared = gathers && last?.given === input.storage ? last.made : null;
      if (shared === null) forget();
      if (!gathers) return given;
      const { storage } = input;
      const made = shared ?? exchanged(torch, input.retain(), degree, [gathered, scattered]);
      last = { given: storage, made };
      input.release();
      return [made.retain(), ...rest];
    },
    after(torch, path, outputs) {
      // Outside the layers nobody else is given it.
      if (!path.includes(".")) forget();
      const made = rows.includes(nameOf(path))
        ? outputs.map((one) => exchanged(torch, one, degree, [scattered, gathered]))
        : outputs;
      return inner?.has(path) ? inner.after(torch, path, made) : [...made];
    },
  };
}
