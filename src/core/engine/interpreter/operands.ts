/** What the operands of instructions refer to: values by name, parameters by path, expressions, dtypes. */

import { say } from "../../../words/message";
import type { Value } from "../../graph/expression";
import type { GraphFunction, Operand, OpInstruction } from "../../graph/types";
import { NotModelled } from "../not-modelled";
import type { Argument } from "../ops/arguments";
import { isTensor } from "../ops/arithmetic";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Context, Input } from "./frame";
import type { InterpreterOptions } from "./options";

/** The tensors of a list an operand names, or null for any other operand. */
function listed(operand: Operand, context: Context): Tensor[] | null {
  return typeof operand === "string" && operand.startsWith("%*") ? (context.lists.get(operand.slice(1)) ?? []) : null;
}

export class Operands {
  private readonly memo = new Map<string, Value>();
  private readonly dropped = new Map<GraphFunction, ReadonlySet<string>>();
  /** Paths by how graphs write them, and by layer. */
  private readonly paths = new Map<string, Map<number, string>>();
  /** Names as they stand in graphs, and what stands behind their sigil: few of them, met over and over. */
  private readonly bare = new Map<string, string>();

  constructor(
    private readonly torch: Torch,
    private readonly options: InterpreterOptions,
  ) {}

  /** The name of a value or parameter, an expression or a dtype without what marks it as one. */
  name(text: string): string {
    let name = this.bare.get(text);
    if (name === undefined) {
      name = /^[%@=$]/.test(text) ? text.slice(1) : text;
      this.bare.set(text, name);
    }
    return name;
  }

  /** A path with the layer's index in it, and the number of the round where a loop in the layer names its modules by it. */
  path(written: string, { index, scope }: Pick<Context, "index" | "scope">): string {
    if (index === null) return written;
    const path = written.includes("{k}") ? written.replaceAll("{k}", String(scope("i"))) : written;
    let ofLayers = this.paths.get(path);
    if (ofLayers === undefined) {
      ofLayers = new Map();
      this.paths.set(path, ofLayers);
    }
    let full = ofLayers.get(index);
    if (full === undefined) {
      full = path.replaceAll("{i}", String(index));
      ofLayers.set(index, full);
    }
    return full;
  }

  /** A value by its name, borrowed. */
  value(name: string, context: Context): Tensor {
    const key = this.name(name);
    const tensor = context.frame.get(key);
    if (tensor === undefined) throw new NotModelled(say("engine.not-alive", { name }));
    return tensor;
  }

  /** Binds results, which are owned, to names. */
  bind(names: readonly (string | null)[], results: readonly Tensor[], context: Context): void {
    for (let k = 0; k < results.length; k++) this.bindOne(names[k], results[k]!, context);
  }

  /** Binds a result, which is owned, to its name, if it has one. */
  bindOne(name: string | null | undefined, result: Tensor, context: Context): void {
    if (name === null || name === undefined) {
      result.release();
      return;
    }
    const key = this.name(name);
    context.frame.get(key)?.release();
    context.frame.set(key, result);
  }

  /** An expression, computed once for all layers where it does not depend on them. */
  evaluate(expression: string, context: Context): Value {
    const { expressions } = this.options;
    if (context.index !== null && expressions.isOfLayer(expression))
      return expressions.evaluate(expression, context.scope);
    let value = this.memo.get(expression);
    if (value === undefined) {
      value = expressions.evaluate(expression, context.scope);
      this.memo.set(expression, value);
    }
    return value;
  }

  /** An operand of an instruction, borrowed. */
  operand(operand: Operand, context: Context): Argument {
    if (typeof operand !== "string") {
      return Array.isArray(operand)
        ? operand.flatMap((item: Operand) => listed(item, context) ?? [this.operand(item, context)])
        : (operand as Argument);
    }
    switch (operand[0]) {
      case "%": {
        const key = this.name(operand);
        // An input the caller left out is None.
        if (!context.frame.has(key) && context.fn.inputs.includes(key) && !this.namedDrops(context.fn).has(key))
          return null;
        return this.value(operand, context);
      }
      case "@": {
        const path = this.path(this.name(operand), context);
        if (path.includes("{h}")) return this.sideBySide(path);
        this.options.settling?.use(this.torch, path);
        return context.inside?.parameters.get(this.torch, path) ?? this.options.parameters.get(path) ?? null;
      }
      case "=":
        return this.evaluate(this.name(operand), context);
      case "$":
        return this.dtype(this.name(operand), context);
      default:
        return operand;
    }
  }

  /** Operands given by keyword. */
  keywords(operands: NonNullable<OpInstruction["kw"]>, context: Context): Record<string, Argument> {
    const keywords: Record<string, Argument> = {};
    for (const name in operands) keywords[name] = this.operand(operands[name]!, context);
    return keywords;
  }

  /** What a block is given. */
  tensors(operands: readonly Operand[], context: Context): Input[] {
    return operands.map((operand) => {
      const value = this.operand(operand, context);
      if (value !== null && !isTensor(value)) throw new NotModelled(say("engine.block-inputs"));
      return value;
    });
  }

  /** Every parameter of a list of modules that `{h}` counts. */
  private sideBySide(path: string): Tensor[] {
    const found: Tensor[] = [];
    for (;;) {
      const next = this.options.parameters.get(path.replace("{h}", String(found.length)));
      if (next === undefined) return found;
      found.push(next);
    }
  }

  private dtype(text: string, context: Context): string {
    if (text === "load") return this.options.loadDtype;
    if (!text.startsWith("dtype(")) return text;
    const inner = text.slice(6, -1);
    const gone =
      inner.startsWith("%") && !context.frame.has(inner.slice(1)) ? context.dtypes.get(inner.slice(1)) : undefined;
    if (gone !== undefined) return gone;
    const of = this.operand(inner, context);
    return isTensor(of) ? of.dtype : this.options.loadDtype;
  }

  /** Every value a function drops by name. */
  namedDrops(fn: GraphFunction): ReadonlySet<string> {
    let names = this.dropped.get(fn);
    if (names === undefined) {
      names = new Set(
        fn.body.flatMap((instruction) =>
          "drop" in instruction ? instruction.drop.map((name) => this.name(name)) : [],
        ),
      );
      this.dropped.set(fn, names);
    }
    return names;
  }
}
