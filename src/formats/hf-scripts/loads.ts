/** Which of a module's calls loads the model that is trained, and as which class. */
import type { LocatedNode, PythonModule } from "../../syntax/tree";
import { table } from "../../terms/table";
import type { LocatedSetting } from "../types";
import { given, placed, scalar } from "./called";
import { loadsBehind, OPTIMIZER, TRAINER, trainingOf } from "./training";

/** What is stepped, in what an optimizer is given; longer texts are cut. */
const STEPPED = /\.(?:named_)?parameters\(/;
const LONGEST = 400;
/** A layer beside the model (`head = nn.Linear(768, 2)`). */
const LAYER = /^(?:torch\.)?nn\.\w{1,60}\(/;

/** The text of what cannot be known without running. */
export function rawOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "unknown" ? node.raw : undefined;
}

const FIRST = /^(\w+)(?:\.|$)/;

/** Names of modules that a loop calls beside the model it loads (`head = Head(768, 20)`); none where it loads none. */
export function namesBeside(python: PythonModule): ReadonlySet<string> {
  const beside = python.round?.loss?.beside;
  if (beside === undefined || trainingOf(python).load === undefined) return new Set();
  const paths = [...beside.layers.map(({ path }) => path), ...Object.keys(beside.forwards ?? {})];
  return new Set(paths.flatMap((path) => FIRST.exec(path)?.[1] ?? []));
}

/** Names that the model which is loaded is bound to. */
export function loadedNames(python: PythonModule): readonly string[] {
  const { load } = trainingOf(python);
  return python.assignments.entries.flatMap(({ key, value }) =>
    load !== undefined && loadsBehind(python, value).includes(load) ? [key] : [],
  );
}

/** Names of the trained model, the surest first: what a trainer is given, what an optimizer steps, what `train()` is called on. */
export function trainedNames(python: PythonModule): readonly string[] {
  const { calls, assignments } = python;
  const beside = namesBeside(python);
  const layers = new Set(
    assignments.entries.flatMap(({ key, value }) => (LAYER.test(rawOf(value) ?? "") ? [key] : [])),
  );
  const handed = calls
    .filter(({ callee }) => TRAINER.test(callee))
    .map((call) => rawOf(given(call, "model") ?? call.positional[0]));
  const stepped = calls
    .filter(({ callee }) => OPTIMIZER.test(callee))
    .flatMap(({ positional }) => (rawOf(positional[0]) ?? "").slice(0, LONGEST).split(STEPPED).slice(0, -1))
    .map((before) => before.split(/[^\w.]/).at(-1))
    .filter((name) => name !== "");
  const trained = calls.map(({ callee }) => /^([\w.]+)\.train$/.exec(callee)?.[1]);
  // What stands beside a model that is loaded is not that model, also where it alone is trained.
  const loaded = beside.size > 0 ? loadedNames(python) : [];
  return [...loaded, ...handed, ...stepped, ...trained].filter(
    (name) => name !== undefined && !layers.has(name) && !beside.has(name),
  ) as string[];
}

/**
 * Classes that are called with a model's name, and whose weights they load: a scorer is a classifier of one label, an embedder
 * gets its head from its trainer's loss (sentence_transformers/cross_encoder/CrossEncoder.py, models/Transformer.py).
 */
const MADE: Readonly<Record<string, string | undefined>> = table({
  CrossEncoder: "AutoModelForSequenceClassification",
  SentenceTransformer: undefined,
  SparseEncoder: undefined,
  Transformer: undefined,
});

/** The class that the model is loaded as, which decides its head and loss. */
export function loadedClass(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  const words = load?.callee.split(".") ?? [];
  const last = words.at(-1) ?? "";
  const name = Object.hasOwn(MADE, last) ? MADE[last] : words.at(-2);
  if (load === undefined || name === undefined) return [];
  return [placed("model_class", name, load.calleeSpan, scalar(name, load.calleeSpan), name)];
}
