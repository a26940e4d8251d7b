/** Calls the hooks of modules that are no layers: of those that a graph calls, and of those whose code it records. */
import { layerPath } from "../../graph/reads";
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

  /** Whether a function's code may enter modules with hooks: what runs outside of layers, and layers where hooks say so. */
  within({ index }: Context): boolean {
    const { hooks } = this.options;
    return hooks !== undefined && (index === null || hooks.insideLayers === true);
  }

  /** Before an instruction of such a function: modules whose code begins or ends with it are entered and left. */
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
    const written = pathOf(instruction);
    const path = written === null ? null : this.operands.path(written, context);
    if (open !== null && path !== open.path && path?.startsWith(`${open.path}.`) !== true) this.leave(context);
    const entered = this.open !== null || path === null ? null : this.entered(path, instruction, context);
    if (entered !== null && (context.index === null || written !== layerPath(context.fn))) {
      this.open = { path: entered, made: null };
      this.enter(entered, context.fn.body.slice("scope" in instruction ? at + 1 : at), context);
    }
    if (this.open !== null && "call" in instruction && typeof instruction.out[0] === "string")
      this.open.made = instruction.out[0];
  }

  /** The module with hooks that code at a path enters: its own, unless a call brings them along; outside of layers one around it, too. */
  private entered(path: string, instruction: Instruction, { index }: Context): string | null {
    const { hooks } = this.options;
    if (path === ROOT) return null;
    if ("scope" in instruction && hooks!.has(path)) return path;
    if (index !== null) return null;
    for (let end = path.lastIndexOf("."); end > 0; end = path.lastIndexOf(".", end - 1))
      if (hooks!.has(path.slice(0, end))) return path.slice(0, end);
    return null;
  }

  /** What the first operand names is what a recorded module is given. */
  private enter(path: string, code: readonly Instruction[], context: Context): void {
    const { hooks } = this.options;
    const key = this.given(code, context);
    const given = key === null ? undefined : context.frame.get(key);
    const [instead] = hooks!.before(this.torch, path, given === undefined ? [] : [given.retain()]);
    if (key !== null && given !== undefined && instead) this.rebind(key, given, instead, context);
  }

  /** What the first operands of a module's code name: what a gradient goes through, if anything does. */
  private given(code: readonly Instruction[], { frame, index }: Context): string | null {
    const isCode = (one: Instruction): one is CallInstruction => "op" in one || "call" in one;
    const read = (index === null ? code.filter(isCode).slice(0, 1) : code.filter(isCode)).flatMap((one) => one.in);
    const names = read.filter((one) => typeof one === "string" && one.startsWith("%"));
    const keys = names.map((name) => this.operands.name(name as string));
    return keys.find((key) => frame.get(key)?.requiresGrad === true) ?? keys[0] ?? null;
  }

  /** The module that is open is left. */
  leave(context: Context): void {
    const { open } = this;
    if (open === null) return;
    this.open = null;
    if (this.torch.halted) return;
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
