/**
 * Selective checkpointing: outputs of chosen operators are kept in forward and handed out again in the recomputation, in
 * order. Sources: torch/utils/checkpoint.py (create_selective_checkpoint_contexts), torchtitan/distributed/
 * activation_checkpoint.py (attention's outputs, rows from other ranks and every other matrix product).
 */
import type { Tensor } from "./tensor";

/**
 * torchao's products in 8 bits are called as `mm` of its tensors: the policy's mode sees that call before the tensors' own class makes
 * `_scaled_mm` of it (torch/utils/checkpoint.py, _CachingTorchDispatchMode; torchao/float8/float8_ops.py, float8_mm).
 */
const PRODUCTS: ReadonlySet<string> = new Set(["mm", "_scaled_mm"]);
const KEPT = /^(?:_scaled_dot_product_(?:flash|efficient)_attention|all_to_all_single)$/;

/** How it is chosen what a segment keeps. */
export interface SelectiveKeeping {
  /** Of what would be kept otherwise: operators, and modules by the ends of their paths, whose products are not counted. */
  readonly recomputes: readonly string[];
}

/** Sees every allocation of a checkpointed segment. */
export interface AllocationPolicy {
  /** A tensor to use instead of a new one, owned by the caller. */
  instead(operator: string): Tensor | undefined;
  /** A new tensor was made. */
  made(operator: string, tensor: Tensor): void;
}

/** What one segment keeps. */
export class SelectiveCache implements AllocationPolicy {
  private readonly kept: Tensor[] = [];
  private products = 0;
  private replaying = false;

  constructor(
    private readonly running: { readonly scope: string },
    private readonly keeping: SelectiveKeeping,
  ) {}

  /** The recomputation starts: what was kept is handed out from the first on. */
  replay(): this {
    this.replaying = true;
    this.products = 0;
    return this;
  }

  private chosen(operator: string): boolean {
    if (this.keeping.recomputes.some((one) => one === operator || this.running.scope.endsWith(`.${one}`))) return false;
    if (PRODUCTS.has(operator)) return ++this.products % 2 === 1;
    return KEPT.test(operator);
  }

  instead(operator: string): Tensor | undefined {
    return this.replaying && this.chosen(operator) ? this.kept.shift() : undefined;
  }

  made(operator: string, tensor: Tensor): void {
    if (!this.replaying && this.chosen(operator)) this.kept.push(tensor.detached());
  }

  release(): void {
    for (const tensor of this.kept.splice(0)) tensor.release();
  }
}
