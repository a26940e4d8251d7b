/** What a script's own step does between and behind further passes of a micro-batch: copies of weights and gradients come and go. */
import type { StepAction } from "../../terms/step-actions";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";

export class FurtherPasses {
  /** What is done behind each pass. */
  private readonly behind: StepAction[][] = [[]];
  private readonly copies = new Map<string, Map<string, Tensor>>();

  /**
   * @param actions in their order, the first pass left out
   * @param named the model's weights
   * @param zero lets go of all gradients
   */
  constructor(
    private readonly torch: Torch,
    actions: readonly StepAction[],
    private readonly named: ReadonlyMap<string, Tensor>,
    private readonly zero: () => void,
  ) {
    for (const action of actions)
      if (action.do === "pass") this.behind.push([]);
      else this.behind.at(-1)?.push(action);
  }

  /** Passes of a micro-batch. */
  get each(): number {
    return this.behind.length;
  }

  /** @param pass counted from nought */
  after(pass: number): void {
    this.torch.kind = "temporaries";
    for (const action of this.behind[pass] ?? []) this.act(action);
  }

  release(): void {
    for (const from of this.copies.keys()) this.forget(from);
  }

  private act(action: StepAction): void {
    if (action.do === "zero") this.zero();
    else if (action.do === "keep") this.keep(action);
    else if (action.do === "forget") this.forget(action.from);
    else if (action.do === "restore")
      for (const [name, copy] of this.copies.get(action.from) ?? []) {
        const weight = this.named.get(name);
        if (weight === undefined) continue;
        weight.grad?.release();
        weight.grad = copy.retain();
      }
  }

  /** A copy takes the place of one that was kept under its name before, once it is there. */
  private keep({ of, into, named }: Extract<StepAction, { readonly do: "keep" }>): void {
    const kept = this.copies.get(into) ?? new Map<string, Tensor>();
    this.copies.set(into, kept);
    for (const [name, weight] of this.named) {
      const from = of === "weights" ? weight : weight.grad;
      if (!weight.requiresGradFlag || from === null || !named.every((text) => name.includes(text))) continue;
      const copy = this.torch.empty("clone", from.sizes, from.dtype);
      kept.get(name)?.release();
      kept.set(name, copy);
    }
  }

  private forget(from: string): void {
    for (const copy of this.copies.get(from)?.values() ?? []) copy.release();
    this.copies.delete(from);
  }
}
