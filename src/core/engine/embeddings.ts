/**
 * Where a graph embeds its inputs: gradient checkpointing with frozen weights tells those results to require grad
 * (transformers' `enable_input_require_grads`).
 */
import type { ArchitectureGraph, Instruction } from "../graph/types";

/**
 * The instructions whose results are outputs of the modules that embed the inputs (`get_input_embeddings`, of encoder and
 * decoder alike): calls of an embedding, or the last operator of the module's scope where it computes more (Gemma scales,
 * images are unfolded after the convolution over patches).
 */
export function inputEmbeddings(graph: ArchitectureGraph): ReadonlySet<Instruction> {
  const marked = graph.main.body.filter((instruction) => "inputgrad" in instruction);
  if (marked.length > 0) return new Set(marked);
  const images = graph.main.inputs.includes("pixel_values");
  if (!images && !graph.main.inputs.includes("input_ids")) return new Set();
  const calls = graph.main.body.filter((instruction) => "call" in instruction);
  const first = calls.find(({ call }) => call === "Embedding");
  const computed = computedEmbeddings(graph, images);
  if (computed.length > 0) return new Set(computed);
  if (first === undefined) return new Set();
  const name = lastPart(first.path);
  return new Set(calls.filter(({ call, path }) => call === "Embedding" && lastPart(path) === name));
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/**
 * The last operators of modules that start with an embedding operator or (for images) a convolution: the first one found
 * and those of the same name. Empty when a plain embedding comes first.
 */
function computedEmbeddings(graph: ArchitectureGraph, images: boolean): Instruction[] {
  const found: Instruction[] = [];
  let name: string | null = null;
  let last: Instruction | null = null;
  let scope = "";
  /** The module's own scope may be entered again after a call inside it. */
  let own = "";
  for (const instruction of graph.main.body) {
    if ("drop" in instruction) continue;
    if ("op" in instruction) {
      const starts = !images && instruction.op === "embedding" && (name === null || lastPart(scope) === name);
      if (starts && last === null) {
        name = lastPart(scope);
        own = scope;
      }
      if (starts || last !== null) last = instruction;
      continue;
    }
    if ("scope" in instruction) {
      scope = instruction.scope;
      if (scope === own) continue;
    }
    if (last !== null) found.push(last);
    last = null;
    if (!("call" in instruction)) continue;
    if (!images && found.length === 0 && instruction.call === "Embedding") return [];
    if (images && found.length === 0 && instruction.call === "Conv2d") {
      // CLIP's kind names the convolution itself (transformers/models/clip/modeling_clip.py, get_input_embeddings).
      if (lastPart(instruction.path) === "patch_embedding") return [instruction];
      last = instruction;
      own = instruction.path.replace(/\.[^.]+$/, "");
    }
  }
  return found;
}
