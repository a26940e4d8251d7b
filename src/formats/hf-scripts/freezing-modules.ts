/**
 * Loops over the modules of a model that freeze what some of them hold: those of some classes, or of some names
 * (`for name, module in model.named_modules(): if "attn" in name: for p in module.parameters(): …`; torch/nn/modules/module.py).
 */
import type { PythonGuard, PythonPath, PythonStep } from "../../syntax/tree";
import { patternOf } from "./freezing-rules";

/** Methods that give modules, and what the names fit that they give. */
const GIVES: ReadonlyMap<string, string> = new Map([
  ["modules", ""],
  ["named_modules", ""],
  ["children", "(?=[^.]+$)"],
  ["named_children", "(?=[^.]+$)"],
]);

/** What a loop over modules means. */
export interface OfModules {
  /** The way and the conditions without the loop. */
  readonly path: PythonPath;
  readonly guards: readonly PythonGuard[];
  /** Classes of the modules whose own weights are meant. */
  readonly modules?: readonly string[];
  /** Classes of modules that are not meant. */
  readonly except?: readonly string[];
  /** What the name of a module fits whose weights are meant. */
  readonly around?: string;
}

function sameSteps(one: readonly PythonStep[], other: readonly PythonStep[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What a way through such a loop means; the way itself where it goes through none, null: it asks for something else. */
export function ofModules({ path, guards }: Pick<OfModules, "path" | "guards">): OfModules | null {
  const at = path.steps.findIndex((step) => step.kind === "call" && GIVES.has(step.name));
  if (at < 0) return { path, guards };
  const loop = path.steps.slice(0, at + 1);
  const last = loop.at(-1);
  const round = path.steps[at + 1];
  // Some of a list by their counters.
  if (round?.kind === "picked" && last?.kind === "call" && last.name.endsWith("children"))
    return { path: { ...path, steps: [...path.steps.slice(0, at), ...path.steps.slice(at + 1)] }, guards };
  if (round?.kind !== "each" || round.element !== round.names - 1) return null;
  let around = (last?.kind === "call" && GIVES.get(last.name)) || "";
  const modules: (readonly string[])[] = [];
  const except: string[] = [];
  const left: PythonGuard[] = [];
  for (const guard of guards) {
    const { test } = guard;
    const inner = test.kind === "not" ? test.test : test;
    const holds = guard.holds === (test.kind !== "not");
    if (inner.kind === "instance" && sameSteps(inner.subject.steps.slice(0, -1), loop)) {
      if (holds) modules.push(inner.classes);
      else except.push(...inner.classes);
      continue;
    }
    const pattern = patternOf(test, loop);
    if (pattern === null) left.push(guard);
    else around += guard.holds ? pattern : `(?!${pattern})`;
  }
  const [only, ...more] = modules;
  if (more.length > 0) return null;
  return {
    path: { ...path, steps: [...path.steps.slice(0, at), ...path.steps.slice(at + 2)] },
    guards: left,
    ...(only === undefined ? {} : { modules: only }),
    ...(except.length === 0 ? {} : { except }),
    ...(only !== undefined && around === "" ? {} : { around: `^${around}` }),
  };
}
