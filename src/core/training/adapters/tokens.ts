/**
 * Trainable tokens: chosen rows of the embedding (and of an output head tied to it) are trained; every forward writes
 * them into a copy of the whole table. Source: peft/tuners/trainable_tokens/layer.py.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { embedding } from "../../engine/ops/gathering";
import { linear } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { adapterDtype, buffer, castInput, done, parameter } from "./layer";

export interface TrainedTokens {
  readonly parameter: Tensor;
  /** Forward of the embedding. */
  readonly embed: ModuleForward;
  /** Forward of a head that shares its weight. */
  readonly head: ModuleForward;
}

/** @param scaled the embedding is scaled by a number, which is put on the device and kept (tuners_utils.py, _get_embed_scale) */
export function trainedTokens(
  torch: Torch,
  adapter: AdapterSpec,
  path: string,
  table: Tensor,
  scaled = false,
): TrainedTokens {
  const sizes = [adapter.trainableTokens ?? 0, table.size(1)];
  const dtype = adapterDtype(adapter, table.dtype);
  const rows = parameter(torch, `${path}.trainable_tokens_delta`, sizes, dtype);
  buffer(torch, sizes, dtype);
  const merged = (torch: Torch): Tensor => {
    const index = torch.empty("_to_copy", [sizes[0]!], "int64");
    const values = castInput(torch, rows, table.dtype);
    const node = torch.record("IndexCopyBackward0", [values], (torch, [gradient]) => [
      gradient ? torch.empty("index_select", sizes, gradient.dtype) : null,
    ]);
    // derivatives.yaml: the gradient is expanded as `source`
    if (node !== null) for (const tensor of [index, values]) torch.save(node, tensor);
    return done(torch.attach(node, torch.empty("index_copy", table.sizes, table.dtype)), values, index);
  };
  const using =
    (run: (torch: Torch, weight: Tensor, input: Tensor) => Tensor): ModuleForward =>
    (torch, input) => {
      const weight = merged(torch);
      return done(run(torch, weight, input), weight);
    };
  return {
    parameter: rows,
    embed: using((t, weight, input) => {
      const rows = embedding(t, weight, input);
      if (scaled && rows.node !== null) {
        const scale = t.empty("_to_copy", [], rows.dtype);
        t.save(rows.node, scale);
        scale.release();
      }
      return rows;
    }),
    head: using((t, weight, input) => linear(t, input, weight, null)),
  };
}
