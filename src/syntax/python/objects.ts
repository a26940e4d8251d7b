/** Attributes and items of objects: dictionaries, classes of the module, namespaces of what the command line says. */
import type { SyntaxNode } from "@lezer/common";
import { say } from "../../words/message";
import type { Entry, LocatedNode } from "../tree";
import { bound } from "./bound";
import { classOf, fieldNames } from "./classes";
import { PARSES } from "./collect";
import { placeOf, sourceOf } from "./compared";
import type { Evaluating } from "./evaluating";
import { dtypeNamed } from "./literals";
import { childNamed, childrenNamed, childrenOf, span } from "./nodes";
import { type Parameter, parametersOf } from "./parameters";

/** What Lightning keeps of a module's arguments (lightning/pytorch/core/mixins/hparams_mixin.py, `save_hyperparameters`). */
const KEPT_ARGUMENT = /^self\.hparams\.(\w{1,80})$/;

export function member(on: Evaluating, node: SyntaxNode, depth: number): LocatedNode {
  const text = on.slice(node);
  const dtype = dtypeNamed(text);
  if (dtype !== undefined) return on.scalar(node, dtype);
  const bindings = on.flow.bindingsAt(node);
  if (bindings !== undefined && bindings.length > 0) return bound(on, node, bindings, depth);
  const subscript = childrenOf(node);
  const object = subscript[0];
  const property = node.lastChild;
  if (object !== undefined && subscript[1]?.name === "[") {
    const container = on.evaluate(object, depth + 1);
    const key = subscript[2] === undefined ? null : on.evaluate(subscript[2], depth + 1);
    if (container.kind === "map" && key?.kind === "scalar") {
      const found = container.entries.findLast((entry) => entry.key === String(key.value));
      if (found !== undefined) return on.moved(found.value, node);
    }
    if (container.kind === "list" && key?.kind === "scalar" && typeof key.value === "number") {
      const found = container.items[key.value];
      if (found !== undefined) return on.moved(found, node);
    }
    return on.unknown(node, say("open.element"));
  }
  const kept = KEPT_ARGUMENT.exec(text)?.[1];
  const given = kept === undefined ? undefined : makersParameter(on, node, kept);
  if (given !== undefined)
    return bound(
      on,
      node,
      [{ expression: null, reason: say("open.parameter"), span: span(given.node), parameter: given }],
      depth,
    );
  // `cfg.lora.r` is `--lora.r` where the command line gives fields of fields (draccus, tyro, jsonargparse).
  const nested = /^[A-Za-z_]\w*\.([\w.]+\.\w+)$/.exec(text)?.[1];
  const said = nested === undefined ? undefined : on.attributes.get(nested);
  if (said !== undefined) return on.moved(said, node);
  if (object !== undefined && property !== null && on.slice(property) === "__dict__") {
    const fields = on.fields(on.evaluate(object, depth + 1), depth);
    if (fields !== undefined) return { kind: "map", entries: fields, ...span(node) };
  }
  const own = object === undefined || property === null ? undefined : on.field(object, on.slice(property), depth);
  if (own !== undefined) return on.moved(own, node);
  if (object !== undefined && property !== null && isNamespace(on, object, depth)) {
    const value = on.attributes.get(on.slice(property));
    if (value !== undefined) return on.moved(value, node);
  }
  return on.unknown(node, say("open.not-here", { name: text.length > 60 ? `${text.slice(0, 57)}…` : text }));
}

/** The class whose method takes an object as its first parameter, whatever it calls that (`self`, `cls`). */
export function classWithin(on: Evaluating, object: SyntaxNode): SyntaxNode | null {
  const [binding, ...others] = object.name === "VariableName" ? (on.flow.bindingsAt(object) ?? []) : [];
  const first = others.length === 0 ? binding?.parameter : undefined;
  const method = first?.index === (first?.function === undefined ? 0 : -1) ? first?.node.parent?.parent : null;
  if (method?.name !== "FunctionDefinition") return null;
  const statement = method.parent?.name === "DecoratedStatement" ? method.parent : method;
  const isStatic = childrenNamed(statement, "Decorator").some((one) => /^@\s*staticmethod\b/.test(on.slice(one)));
  const type = statement.parent?.parent;
  return type?.name === "ClassDefinition" && !isStatic ? type : null;
}

/** The call that makes the one object of a class; undefined: there are several, or none. */
export function onlyCall(on: Evaluating, type: SyntaxNode): SyntaxNode | undefined {
  const name = childNamed(type, "VariableName");
  const [call, ...others] = name === null ? [] : on.found.callsOf(on.slice(name));
  return others.length === 0 ? call : undefined;
}

/** The parameter of a name of the `__init__` of the class around a node. */
function makersParameter(on: Evaluating, node: SyntaxNode, name: string): Parameter | undefined {
  let type: SyntaxNode | null = node;
  while (type !== null && type.name !== "ClassDefinition") type = type.parent;
  const methods = childrenNamed(childNamed(type, "Body"), "FunctionDefinition");
  const init = methods.find((one) => on.slice(childNamed(one, "VariableName") ?? one) === "__init__");
  return init && parametersOf(init, (one) => on.slice(one)).find((one) => one.name === name);
}

/** Whether an object holds what the command line says: by what it is bound to, by its name, or by the call that made it. */
function isNamespace(on: Evaluating, object: SyntaxNode, depth: number): boolean {
  if (object.name !== "VariableName" && object.name !== "MemberExpression") return false;
  const name = on.slice(object).replace(/^.*\./s, "");
  if (/arg|config|cfg|opt|param|flag|setting|hp/i.test(name)) return true;
  if (object.name === "VariableName" && on.found.namespaces.has(name)) return true;
  const callee = on.found.callAt(sourceOf(on.evaluate(object, depth + 1)))?.firstChild;
  return callee != null && PARSES.test(on.slice(callee));
}

/** Classes of classes of the module, as deep as they are followed. */
const MAX_BASES = 8;

/** A class and those of the module that it extends, itself last: a later one's fields stand for an earlier one's. */
function basesOf(on: Evaluating, type: SyntaxNode): readonly SyntaxNode[] {
  const chain: SyntaxNode[] = [];
  for (let one: SyntaxNode | undefined = type; one !== undefined && chain.length < MAX_BASES; ) {
    if (chain.includes(one)) break;
    chain.unshift(one);
    const base = childNamed(childNamed(one, "ArgList"), "VariableName");
    one = base === null ? undefined : on.found.classNamed(on.slice(base));
  }
  return chain;
}

export function fieldsOf(
  on: Evaluating,
  type: SyntaxNode,
  call: SyntaxNode | undefined,
  depth: number,
): readonly Entry[] {
  const list = childNamed(call, "ArgList");
  const chain = basesOf(on, type);
  // What a class makes of its arguments itself gives no field its value by place or name.
  const makes = chain.some((one) =>
    childrenOf(childNamed(one, "Body") ?? one).some(
      (part) => on.slice(childNamed(part, "VariableName") ?? one) === "__init__",
    ),
  );
  const given = list && !makes ? on.arguments(list, depth + 1) : { positional: [], entries: [] };
  const places = chain.flatMap((one) => fieldNames(one, on));
  const placed = given.positional.flatMap((value, index): Entry[] => {
    const key = places[index];
    return key === undefined ? [] : [{ key, keySpan: placeOf(value), value }];
  });
  const own = chain.flatMap((one) => classOf(one, on).fields.entries);
  const said = new Map([...own, ...placed, ...given.entries].map((one) => [one.key, one]));
  return [...said.values()];
}
