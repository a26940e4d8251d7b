/** Calls the hooks of modules that are no layers: of those that a graph calls, and of those whose code it records. */
import { layerPath, madeBy, outsideNames, readIn } from "../../graph/reads";
import type { ArchitectureGraph, GraphFunction, Instruction } from "../../graph/types";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Context, OpenModule } from "./frame";
import type { Operands } from "./operands";
import type { InterpreterOptions } from "./options";

/** The path of the model itself. */
export const ROOT = "";

export class HookedModules {
  /** Where the code of layers and of loops stands, by their functions. */
  private readonly places = new Map<GraphFunction, string | null>();

  constructor(
    private readonly torch: Torch,
    private readonly graph: ArchitectureGraph,
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
    if (this.options.hooks === undefined) return;
    const path = this.pathOf(instruction, context);
    if (path === null) return;
    this.leaveUpTo(path, context);
    for (const entered of this.entered(path, context)) this.enter(entered, context.fn.body.slice(at), context);
  }

  /** Path of the module whose code an instruction is; null: it goes on with what runs. */
  private pathOf(instruction: Instruction, context: Context): string | null {
    const place = this.placeOf(instruction);
    // What a layer runs belongs to one of its modules: a loop inside is captured without a name.
    if (place === null || (place === ROOT && context.index !== null)) return null;
    // A layer has hooks of its own; its number is not known yet.
    const layer = context.index === null ? place.indexOf(".{i}") : -1;
    return this.operands.path(layer < 0 ? place : place.slice(0, layer), context);
  }

  private placeOf(instruction: Instruction): string | null {
    if ("scope" in instruction) return instruction.scope;
    // The called module's hooks run with the call.
    if ("call" in instruction) return instruction.path.slice(0, Math.max(0, instruction.path.lastIndexOf(".")));
    if ("repeat" in instruction) return this.placeOfBlock(instruction.repeat.bodies[0]?.block);
    return "block" in instruction ? this.placeOfBlock(instruction.block) : null;
  }

  private placeOfBlock(block: number | undefined): string | null {
    const fn = block === undefined ? undefined : this.graph.blocks[block];
    if (fn === undefined) return null;
    const known = this.places.get(fn);
    if (known !== undefined) return known;
    this.places.set(fn, null);
    let place: string | null = null;
    for (const instruction of fn.body) {
      place = this.placeOf(instruction);
      if (place !== null) break;
    }
    this.places.set(fn, place);
    return place;
  }

  /** Modules with hooks that code at a path enters, the outermost first. */
  private entered(path: string, { index, fn, open }: Context): string[] {
    const { hooks } = this.options;
    // What is around a function runs already: the model, a layer.
    const layer = index === null ? ROOT : (layerPath(fn)?.replace("{i}", String(index)) ?? path);
    const around = Math.max(layer.length, open.at(-1)?.path.length ?? 0);
    const found: string[] = [];
    for (let end = path.length; end > around; end = path.lastIndexOf(".", end - 1)) {
      const module = path.slice(0, end);
      if (hooks!.has(module)) found.unshift(module);
    }
    return found;
  }

  /**
   * What a module's code reads and does not make is what it is given; what it makes and what is read after it is what it hands out.
   * Names that it is given and that are read after it, too, are its caller's, which have what they had once it is done.
   */
  private enter(path: string, code: readonly Instruction[], context: Context): void {
    const { frame, fn } = context;
    const end = this.lengthOf(path, code, context);
    const own = code.slice(0, end);
    const names = [...outsideNames(own)].filter((name) => frame.has(name));
    const given = names.map((name) => frame.get(name)!.retain());
    const later = readIn({ outputs: fn.outputs, body: code.slice(end) });
    const instead = this.options.hooks!.before(this.torch, path, given);
    const kept = new Map<string, Tensor>();
    names.forEach((name, k) => {
      const [before, now] = [frame.get(name)!, instead[k]];
      if (!now) return;
      frame.set(name, now);
      if (now !== before && later.has(name)) kept.set(name, before);
      else before.release();
    });
    const outputs = own.flatMap(madeBy).filter((name) => later.has(name));
    context.open.push({ path, outputs, kept });
  }

  /** How many of these instructions are a module's. */
  private lengthOf(module: string, code: readonly Instruction[], context: Context): number {
    const end = code.findIndex((instruction) => {
      const path = this.pathOf(instruction, context);
      return path !== null && !isIn(path, module);
    });
    return end < 0 ? code.length : end;
  }

  /** Open modules that a path is not in are left, the innermost first. */
  private leaveUpTo(path: string | null, context: Context): void {
    const { open } = context;
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      if (path !== null && isIn(path, last.path)) return;
      open.pop();
      this.left(last, context);
    }
  }

  /** A function ends, and with it the modules that are open. */
  leave(context: Context): void {
    this.leaveUpTo(null, context);
  }

  private left({ path, outputs, kept }: OpenModule, { frame }: Context): void {
    for (const [name, before] of kept) {
      frame.get(name)?.release();
      frame.set(name, before);
    }
    if (this.torch.halted) return;
    const names = outputs.filter((name) => frame.has(name));
    const given = names.map((name) => frame.get(name)!);
    const instead = this.options.hooks!.after(
      this.torch,
      path,
      given.map((tensor) => tensor.retain()),
    );
    names.forEach((name, k) => {
      if (instead[k] === undefined) return;
      frame.set(name, instead[k]);
      given[k]!.release();
    });
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

function isIn(path: string, module: string): boolean {
  return path === module || path.startsWith(`${module}.`);
}
