/** Rules of frozen weights as texts, and where in a model they hold. */

import type { PythonGuard, PythonPath, PythonStep, PythonTest } from "../../syntax/tree";
import { compilePattern } from "../../terms/pattern";
import { table } from "../../terms/table";
import type { PartStep, WeightRule } from "../../terms/weights";

/** Rules that a script's weights are gone through with; every weight of every estimate is asked of each. */
export const MOST_RULES = 200;

/** Methods that give the object back, or that change nothing about its parts. */
const SAME: ReadonlySet<string> = new Set("to cuda half bfloat16 float train eval compile".split(" "));

const PARTS: Readonly<Record<string, PartStep>> = table({
  get_base_model: { method: "base" },
  get_input_embeddings: { method: "input-embeddings" },
  get_output_embeddings: { method: "output-embeddings" },
  get_encoder: { method: "encoder" },
  get_decoder: { method: "decoder" },
});

const frozen = (pattern: string, part?: readonly PartStep[]): WeightRule => ({
  pattern,
  trained: false,
  ...(part === undefined ? {} : { part }),
});

/** Convolutions that read waves. */
const WAVES = "(?:^|\\.)feature_extractor\\.";

const OF_WAVES =
  /(?:^|\.)(?:Wav2Vec2|Hubert|WavLM|UniSpeech|Data2VecAudio|AutoModelFor(?:CTC|Audio(?:Frame)?Classification|AudioXVector)\b)\w*(?:\.\w+)?$/;

/** Whether what is called loads or makes a model that hears waves, or is an automatic class that such are loaded with. */
export const hearsWaves = (callee: string): boolean => OF_WAVES.test(callee);

/** Models of waves are recorded as the library's examples train them, their convolutions frozen: where nothing freezes them, they are trained. */
export const TRAINS_WAVES: WeightRule = { pattern: WAVES, trained: true };

/** `freeze_…` of transformers' speech models. */
export const FREEZES: Readonly<Record<string, WeightRule>> = table({
  freeze_base_model: frozen("", [{ method: "base" }]),
  freeze_feature_encoder: frozen(WAVES),
  freeze_feature_extractor: frozen(WAVES),
  freeze_encoder: frozen("", [{ method: "encoder" }]),
  freeze_decoder: frozen("", [{ method: "decoder" }]),
});

/** A part of the model, and which of its parameters are meant. */
interface Place {
  readonly part: readonly PartStep[];
  /** The parameters of a loop, with the steps of the loop itself: tests ask about its other names. */
  readonly loop: readonly PythonStep[] | null;
  /** A parameter of its own (`weight`). */
  readonly weight: string | null;
}

/** Rounds of a loop over layers that are told apart. */
export const MAX_ROUNDS = 256;

const PARAMETERS: ReadonlySet<string> = new Set(["parameters", "named_parameters"]);

/** The place that a path leads to; null: it is none of the model's. */
export function placeAt({ steps }: PythonPath): Place | null {
  const part: PartStep[] = [];
  for (const [index, step] of steps.entries()) {
    const rest = steps.slice(index + 1);
    if (step.kind === "unknown") return null;
    if (step.kind === "attribute") {
      if ((step.name === "weight" || step.name === "bias") && rest.length === 0)
        return { part, loop: null, weight: step.name };
      if (step.name === "base_model") part.push({ method: "base" });
      else if (step.name !== "module") part.push(step.name);
    } else if (step.kind === "items" || step.kind === "picked") {
      const { kind: _, ...chosen } = step;
      part.push(chosen);
    } else if (step.kind === "each") {
      // A loop over a list of modules.
      if (!/^(?:items|picked)$/.test(steps[index - 1]?.kind ?? "")) part.push({ from: 0, to: null });
    } else if (PARAMETERS.has(step.name) && rest.length === 1)
      return { part, loop: steps.slice(0, index + 1), weight: null };
    else if (Object.hasOwn(PARTS, step.name)) part.push(PARTS[step.name] as PartStep);
    else if (!SAME.has(step.name)) return null;
  }
  return { part, loop: null, weight: null };
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

type How = Extract<PythonTest, { kind: "text" }>["how"];

/** What a name must fit; null: a pattern that is matched nowhere here. */
const AROUND: Readonly<Record<How, (text: string) => string | null>> = {
  contains: (text) => `.*${escaped(text)}`,
  begins: (text) => escaped(text),
  ends: (text) => `.*${escaped(text)}$`,
  is: (text) => `${escaped(text)}$`,
  search: (text) => fitting(text, `.*(?:${text})`),
  match: (text) => fitting(text, `(?:${text})`),
  fullmatch: (text) => fitting(text, `(?:${text})$`),
};

function fitting(pattern: string, around: string): string | null {
  return compilePattern(pattern).ok ? around : null;
}

/** A pattern that a name fits where the test holds, without width; null: the test asks for something else. */
export function patternOf(test: PythonTest, loop: readonly PythonStep[]): string | null {
  switch (test.kind) {
    case "text": {
      const own = test.subject.steps;
      const same = own.length === loop.length + 1 && JSON.stringify(own.slice(0, -1)) === JSON.stringify(loop);
      const last = own.at(-1);
      // `for name, p in model.named_parameters()`: the name comes first.
      const around = AROUND[test.how](test.text);
      return around !== null && same && last?.kind === "each" && last.names === 2 && last.element === 0
        ? `(?=${around})`
        : null;
    }
    case "not": {
      const inner = patternOf(test.test, loop);
      return inner === null ? null : `(?!${inner})`;
    }
    case "and":
    case "or": {
      const inner = test.tests.map((one) => patternOf(one, loop));
      if (inner.includes(null) || inner.length === 0) return null;
      return test.kind === "and" || inner.length === 1 ? inner.join("") : `(?:${inner.join("|")})`;
    }
    default:
      return null;
  }
}

/** What conditions ask of the names together; null: of something else. */
export function guarded(guards: readonly PythonGuard[], loop: readonly PythonStep[]): string | null {
  let pattern = "";
  for (const { test, holds } of guards) {
    const own = patternOf(test, loop);
    if (own === null) return null;
    pattern += holds ? own : `(?!${own})`;
  }
  return pattern;
}
