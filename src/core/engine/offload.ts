/**
 * Saved tensors that wait in pinned host memory. Sources: torch/autograd/graph.py (save_on_cpu), trl/models/
 * activation_offloading.py and torchtune/training/_activation_offloading.py (OffloadActivations).
 */
import type { SavedHandle, SavedTensorHooks } from "./node";
import { type Tensor, tensorBytes } from "./tensor";
import type { Torch } from "./torch";

/** Smaller tensors stay: not worth a transfer (OffloadActivations, `min_offload_size`). */
const SMALLEST = 1024;
/** Saved tensors that stay until their copy is surely done (OffloadActivations, `max_fwd_stash_size`). */
const IN_FLIGHT = 5;
/** Layers after which every layer lets go of what an earlier one sent, each of which saves one tensor at least. */
export const LAYERS_TO_SETTLE = IN_FLIGHT + 1;

/** A tensor on its way to the host: usable on the device until it is let go of. */
interface Passing {
  readonly tensor: Tensor;
  /** Whether it still is on the device. */
  here: boolean;
}

/** `save_on_cpu(pin_memory=True)`: every saved tensor goes to the host at once and comes back when it is needed. */
export class OffloadHooks implements SavedTensorHooks {
  private readonly passing: Passing[] = [];
  /** Storages that a second saved tensor shares: TRL keeps every later one of them on the device. */
  private readonly shared = new Set<Tensor["storage"]>();

  /**
   * @param overlapped copies run beside the computation, and parameters and small tensors stay (OffloadActivations): `each`
   *   saved tensor is sent (torchtune), or a storage `once` (TRL); null: at once, and everything
   */
  constructor(
    private readonly torch: Torch,
    private readonly overlapped: "each" | "once" | null,
  ) {}

  pack(tensor: Tensor): SavedHandle {
    if (this.overlapped !== null && this.stays(tensor)) return tensor.retain();
    const { torch } = this;
    const { sizes, strides, dtype, requiresGrad } = tensor;
    torch.offload(tensorBytes(sizes, dtype));
    const passing = this.overlapped === null ? null : this.send(tensor);
    return {
      unpack: () => {
        if (passing?.here) return passing.tensor.retain();
        const back = torch.empty("_to_copy", sizes, dtype, strides);
        back.requiresGradFlag = requiresGrad;
        return back;
      },
      release: () => undefined,
    };
  }

  private stays(tensor: Tensor): boolean {
    // torchtune switches its hooks off around the output layer, and the loss is computed after they are left.
    if (this.overlapped === "each" && this.torch.logits) return true;
    const parameter = tensor.isLeaf && tensor.name !== null;
    if (this.overlapped === "once" && this.passing.some((other) => other.tensor.storage === tensor.storage))
      this.shared.add(tensor.storage);
    return parameter || this.shared.has(tensor.storage) || tensorBytes(tensor.sizes, tensor.dtype) < SMALLEST;
  }

  private send(tensor: Tensor): Passing {
    const passing = { tensor: tensor.retain(), here: true };
    this.passing.push(passing);
    if (this.passing.length > IN_FLIGHT) release(this.passing.shift()!);
    return passing;
  }

  /** The pass is over: nothing is on its way any more. */
  finish(): void {
    for (const passing of this.passing.splice(0)) release(passing);
  }
}

function release(passing: Passing): void {
  passing.here = false;
  passing.tensor.release();
}
