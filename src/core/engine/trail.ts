/**
 * Which modules run, told as their hooks are: `register_forward_pre_hook` and `register_forward_hook` in forward, and in
 * backward what hooks put on outputs and inputs see (deepspeed/runtime/zero/parameter_offload.py, `PreBackwardFunctionForModule`,
 * `PostBackwardFunctionModule`). Modules are known by the paths that instructions and nodes of the graph belong to; those
 * around them are entered and left with them.
 */
import type { Moment } from "./notes";
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

const NUMBER = /^\d+$/;

/** Paths from the outermost module to `path`; lists of modules, whose forward is never called, are left out. */
function chainOf(path: string): readonly string[] {
  if (path === "") return [""];
  const parts = path.split(".");
  const chain = [""];
  for (let k = 1; k <= parts.length; k++) {
    if (k < parts.length && NUMBER.test(parts[k]!)) continue;
    chain.push(parts.slice(0, k).join("."));
  }
  return chain;
}

/** The layer that a path is in: a recomputation runs that, not what is around it. */
function layerOf(path: string): string {
  const parts = path.split(".");
  const index = parts.findIndex((part) => NUMBER.test(part));
  return index < 0 ? path : parts.slice(0, index + 1).join(".");
}

function isInside(path: string, module: string): boolean {
  return module === "" || path === module || path.startsWith(`${module}.`);
}

/** Modules that are open, the outermost first. */
interface Stack {
  readonly open: string[];
  /** The outermost module of which it can tell. */
  readonly base: string;
}

export class Trail {
  /** Forwards that run: the model's, or recomputations inside backward. */
  private forwards: Stack[] = [];
  /** Backward passes, the innermost last. */
  private backwards: Stack[] = [];
  private readonly chains = new Map<string, readonly string[]>();

  /** Modules that nodes or instructions belong to themselves, not only what is inside them. */
  private readonly exact = new Set<string>();
  /** Modules whose output was told to require grad: the hook on it sees its gradient. */
  private readonly told = new WeakMap<Tensor, string>();

  constructor(private readonly torch: Torch) {}

  /** The output of the module at `path` is told to require grad (`enable_input_require_grads`). */
  tell(output: Tensor, path: string): void {
    this.told.set(output, path);
  }

  /** The gradient of a leaf is there. */
  reach(leaf: Tensor): void {
    const path = this.told.get(leaf);
    if (path !== undefined) this.enterBackward(path);
  }

  private chain(path: string): readonly string[] {
    let chain = this.chains.get(path);
    if (chain === undefined) {
      chain = chainOf(path);
      this.chains.set(path, chain);
    }
    return chain;
  }

  private note(path: string, moment: Moment, tracked = true): void {
    this.torch.note({ kind: "module", path, moment, tracked });
  }

  /** The model's forward begins. */
  begin(): void {
    this.forwards = [{ open: [], base: "" }];
    this.backwards = [];
    this.move(this.forwards[0]!, "", "forward", "forwarded");
  }

  /** The innermost forward is over; a recomputation that was stopped calls no more hooks. */
  end(): void {
    const stack = this.forwards.pop();
    if (stack === undefined) return;
    for (let path = stack.open.pop(); path !== undefined; path = stack.open.pop()) this.note(path, "forwarded");
  }

  /** A layer is run again; what comes until `end` is inside it. */
  again(): void {
    this.forwards.push({ open: [], base: "?" });
  }

  /** Whether the model's own forward runs, not a recomputation in its backward. */
  get inForward(): boolean {
    return this.forwards.length > 0;
  }

  /** What follows belongs to the module at `path`. */
  enter(path: string, tracked = true): void {
    const stack = this.forwards[this.forwards.length - 1];
    if (stack === undefined) return;
    if (stack.base === "?") this.forwards[this.forwards.length - 1] = { ...stack, base: layerOf(path) };
    this.move(this.forwards[this.forwards.length - 1]!, path, "forward", "forwarded", tracked);
  }

  /** The forward of the module at `path` returns. */
  leave(path: string): void {
    const stack = this.forwards[this.forwards.length - 1];
    if (stack === undefined || !stack.open.includes(path)) return;
    for (let open = stack.open.pop(); open !== undefined; open = stack.open.pop()) {
      this.note(open, "forwarded");
      if (open === path) return;
    }
  }

  /** The code of the innermost open module reads the parameter at `path`, of a module that is not called for it. */
  read(path: string): void {
    if (this.forwards.length > 0) this.note(path, "read");
  }

  /** A backward pass begins, in another one where a segment is run again. */
  beginBackward(): void {
    this.backwards.push({ open: [], base: this.backwards.length === 0 ? "" : "?" });
  }

  /** A node of the module at `path` is about to run. */
  enterBackward(path: string): void {
    const last = this.backwards.length - 1;
    const stack = this.backwards[last];
    if (stack === undefined) return;
    if (stack.base === "?") this.backwards[last] = { ...stack, base: layerOf(path) };
    this.move(this.backwards[last]!, path, "backward", "backwarded");
  }

  /** What runs next is between modules: those that nothing inside was run of are done. */
  leaveBackward(): void {
    const stack = this.backwards[this.backwards.length - 1];
    if (stack === undefined) return;
    const { open } = stack;
    while (open.length > 0 && this.exact.has(open[open.length - 1]!)) this.note(open.pop()!, "backwarded");
  }

  endBackward(): void {
    const stack = this.backwards.pop();
    if (stack === undefined) return;
    for (let path = stack.open.pop(); path !== undefined; path = stack.open.pop()) this.note(path, "backwarded");
  }

  private move({ open, base }: Stack, path: string, before: Moment, after: Moment, tracked = true): void {
    while (open.length > 0 && !isInside(path, open[open.length - 1]!)) this.note(open.pop()!, after);
    const chain = this.chain(path);
    for (const module of chain) {
      if (module.length < base.length || open.includes(module)) continue;
      open.push(module);
      if (module === path) this.exact.add(module);
      // Models and attention are called with keywords, which no hook sees: nothing tells that they are done.
      this.note(module, before, tracked && module === path);
    }
  }
}
