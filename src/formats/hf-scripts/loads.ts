/** Which of a module's calls loads the model that is trained, and as which class. */
import type { LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";

/** Calls that make a model from published weights or from a config. */
export const LOADS =
  /(?:AutoModel\w*|For\w+|(?<!Peft)Model|UNet\w*|Transformer\w*|^Auto\w*Model\w*)\.(?:from_pretrained|from_config)$/;

/** Names looked through from the trainer back to the call; bounds models that are wrapped around each other. */
const MAX_WRAPS = 8;

const TRAINER = /Trainer$/;
const OPTIMIZER = /(?:^|\.)(?:\w*Adam\w*|SGD|RMSprop|Adagrad|Adafactor|Lion\w*|LAMB|LARS|Muon|Sophia\w*)$/;

/** The text of what cannot be known without running. */
export function rawOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "unknown" ? node.raw : undefined;
}

/** Names of the trained model, the surest first: what a trainer is given, what an optimizer steps, what `train()` is called on. */
export function trainedNames({ calls }: PythonModule): readonly string[] {
  const given = calls
    .filter(({ callee }) => TRAINER.test(callee))
    .map(({ keywords, positional }) =>
      rawOf(keywords.entries.find(({ key }) => key === "model")?.value ?? positional[0]),
    );
  const stepped = calls
    .filter(({ callee }) => OPTIMIZER.test(callee))
    .map(({ positional }) => /^([\w.]+)\.(?:named_)?parameters\(/.exec(rawOf(positional[0]) ?? "")?.[1]);
  const trained = calls.map(({ callee }) => /^([\w.]+)\.train$/.exec(callee)?.[1]);
  return [...given, ...stepped, ...trained].filter((name) => name !== undefined);
}

/** The load that a name is bound to, through the calls that wrap the model. */
function loadBehind(
  name: string,
  python: PythonModule,
  loads: readonly PythonCall[],
  depth = 0,
): PythonCall | undefined {
  if (depth > MAX_WRAPS) return undefined;
  for (const { value } of python.assignments.entries.filter(({ key }) => key === name).toReversed()) {
    const load = loads.find(({ start }) => start === value.start);
    if (load !== undefined) return load;
    const wrap = python.calls.find(({ start, end }) => start === value.start && end === value.end);
    const inner = rawOf(wrap?.positional[0] ?? wrap?.keywords.entries.find(({ key }) => key === "model")?.value);
    const found = inner === undefined || inner === name ? undefined : loadBehind(inner, python, loads, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The call that loads the trained model: the one behind what is trained, else the last; undefined: none loads any. */
export function trainedLoad(python: PythonModule): PythonCall | undefined {
  const loads = python.calls.filter(({ callee }) => LOADS.test(callee));
  if (loads.length <= 1) return loads[0];
  for (const name of trainedNames(python)) {
    const load = loadBehind(name, python, loads);
    if (load !== undefined) return load;
  }
  return loads.at(-1);
}

/** The class that the model is loaded as, which decides its head and loss. */
export function loadedClass(python: PythonModule): readonly LocatedSetting[] {
  const load = trainedLoad(python);
  const name = load?.callee.split(".").at(-2);
  if (load === undefined || name === undefined) return [];
  const node = { kind: "scalar" as const, value: name, raw: name, ...load.calleeSpan };
  return [{ name: "model_class", key: name, value: name, node, keySpan: load.calleeSpan, valueSpan: load.calleeSpan }];
}
