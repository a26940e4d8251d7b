/** Calls the hooks of modules outside the layers: of those that a graph calls, and of those whose code it records. */
import type { CallInstruction, Instruction } from "../../graph/types";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Context } from "./frame";
import type { Operands } from "./operands";
import type { InterpreterOptions } from "./options";

/** The path of the model itself. */
export const ROOT = "";

/** A module whose recorded code runs between its hooks. */
interface Open {
  readonly path: string;
  /** Name of what it made last. */
  made: string | null;
}

export class HookedModules {
  private open: Open | null = null;

  constructor(
    private readonly torch: Torch,
    private readonly options: Pick<InterpreterOptions, "hooks" | "modules">,
    private readonly operands: Operands,
  ) {}

  /** Before an instruction outside the layers: modules whose code begins or ends with it are entered and left. */
  cross(instruction: Instruction, at: number, context: Context): void {
    const { hooks } = this.options;
    if (hooks === undefined) return;
    const { open } = this;
    if ("op" in instruction) {
      const [made] = instruction.out;
      if (open !== null && typeof made === "string") open.made = made;
      return;
    }
    if ("drop" in instruction || "store" in instruction) return;
    const path = pathOf(instruction);
    if (open !== null && path !== open.path && path?.startsWith(`${open.path}.`) !== true) this.leave(context);
    if (!("scope" in instruction) || this.open !== null || path === null || path === ROOT || !hooks.has(path)) return;
    this.open = { path, made: null };
    this.enter(path, context.fn.body.slice(at + 1), context);
  }

  /** What the first operand names is what a recorded module is given. */
  private enter(path: string, code: readonly Instruction[], context: Context): void {
    const { hooks } = this.options;
    const first = code.find((one) => "op" in one || "call" in one) as CallInstruction | undefined;
    const name = first?.in.find((one) => typeof one === "string" && one.startsWith("%"));
    const key = typeof name === "string" ? this.operands.name(name) : null;
    const given = key === null ? undefined : context.frame.get(key);
    const [instead] = hooks!.before(this.torch, path, given === undefined ? [] : [given.retain()]);
    if (key !== null && given !== undefined && instead) this.rebind(key, given, instead, context);
  }

  /** The module that is open is left. */
  leave(context: Context): void {
    const { open } = this;
    if (open === null) return;
    this.open = null;
    const key = open.made === null ? null : this.operands.name(open.made);
    const made = key === null ? undefined : context.frame.get(key);
    const [instead] = this.options.hooks!.after(this.torch, open.path, made === undefined ? [] : [made.retain()]);
    if (key !== null && made !== undefined && instead) this.rebind(key, made, instead, context);
  }

  private rebind(key: string, before: Tensor, now: Tensor, context: Context): void {
    context.frame.set(key, now);
    before.release();
  }

  /** What a called module gets for `called`: owned where it has hooks. */
  before(path: string, called: Tensor): Tensor {
    if (!this.isCalled(path)) return called;
    return this.options.hooks!.before(this.torch, path, [called.retain()])[0] ?? called.retain();
  }

  /** What its caller gets for `out`, which is given up, as what it was given is. */
  after(path: string, input: Tensor, out: Tensor): Tensor {
    if (!this.isCalled(path)) return out;
    input.release();
    if (this.torch.halted) return out;
    return this.options.hooks!.after(this.torch, path, [out])[0] ?? out;
  }

  private isCalled(path: string): boolean {
    const { hooks, modules } = this.options;
    return hooks?.has(path) === true && !(hooks.insideAdapters === true && modules.has(path));
  }
}

function pathOf(instruction: Instruction): string | null {
  if ("scope" in instruction) return instruction.scope;
  return "call" in instruction ? instruction.path : null;
}
