/** Which of a module's calls loads the model that is trained, and as which class. */
import type { LocatedNode, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { trainingOf } from "./training";

const TRAINER = /Trainer$/;
const OPTIMIZER =
  /(?:^|\.)(?:\w{0,80}Adam\w{0,80}|SGD|RMSprop|Adagrad|Adafactor|Lion\w{0,80}|LAMB|LARS|Muon|Sophia\w{0,80})$/;

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

/** The class that the model is loaded as, which decides its head and loss. */
export function loadedClass(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  const name = load?.callee.split(".").at(-2);
  if (load === undefined || name === undefined) return [];
  const node = { kind: "scalar" as const, value: name, raw: name, ...load.calleeSpan };
  return [{ name: "model_class", key: name, value: name, node, keySpan: load.calleeSpan, valueSpan: load.calleeSpan }];
}
