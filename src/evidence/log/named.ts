/** Tensors that a log names itself: warnings around an allocator's message say which copy it refused. */
import type { Part } from "./phase-rules";

export interface NamedTensor {
  /** As the model without its wrappers calls it. */
  readonly name: string;
  readonly part: Part;
  /** null: the warning does not say it. */
  readonly rank: number | null;
}

/** FSDP clones each gathered tensor of a checkpoint, and warns where one finds no room (torch/distributed/fsdp/_state_dict_utils.py). */
const CLONE = /Failed to clone\(\) tensor with name ([\w.]{1,300}?)(?: on rank (\d{1,6}))?\. This may mean/;

/** Modules that wrappers put into a path (torch/distributed/fsdp, torch/distributed/algorithms/_checkpoint, torch/_dynamo, DDP). */
const WRAPPERS = ["_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module", "_orig_mod", "module"];

/** @param text of the line before the allocator's message */
export function namedBefore(text: string): NamedTensor | null {
  const found = CLONE.exec(text);
  if (found === null) return null;
  const [, name = "", rank] = found;
  const path = name.split(".").filter((part) => !WRAPPERS.includes(part));
  return { name: path.join("."), part: "saving", rank: rank === undefined ? null : Number(rank) };
}
