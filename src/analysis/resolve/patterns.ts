/** Patterns of names that a run cannot be read by: what they would name is said to be unknown. */
import { untried } from "../../core/training/adapters/ranks";
import type { TrainingRun } from "../../core/training/run";
import { compilePattern } from "../../terms/pattern";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";

/** Characters of a pattern that are shown. */
const SHOWN = 60;

/** Says of each pattern that Python refuses, or that is not matched in bounded time, that it counts for nothing. */
export function supposePatterns(c: ResolveContext, run: TrainingRun): void {
  for (const [settleWith, pattern] of patternsOf(run)) {
    const compiled = compilePattern(pattern);
    if (compiled.ok) continue;
    const shown = pattern.length > SHOWN ? `${pattern.slice(0, SHOWN)}…` : pattern;
    c.suppose(say(`assume.pattern-${compiled.kind}`, { pattern: shown }), settleWith);
  }
  supposeRanks(c, run);
}

/** The patterns of ranks, of which a config may have more than are tried. */
function supposeRanks(c: ResolveContext, { adapter }: TrainingRun): void {
  const count = untried(adapter?.rankPattern ?? {});
  if (count > 0) c.suppose(say("assume.patterns-untried", { count }), "adapter.rank_pattern");
}

/** Patterns with the key that states them. */
function patternsOf({
  adapter,
  trained,
  quantization,
  optimizer,
}: TrainingRun): readonly (readonly [string, string])[] {
  const of = (key: string, patterns: unknown): (readonly [string, string])[] =>
    typeof patterns === "string" ? [[key, patterns]] : [];
  return [
    ...of("adapter.target_modules", adapter?.targetModules),
    ...of("adapter.exclude_modules", adapter?.excludeModules),
    ...Object.keys(adapter?.rankPattern ?? {}).flatMap((pattern) => of("adapter.rank_pattern", pattern)),
    ...[...(trained?.rules ?? []), ...(trained?.besideAdapter ?? [])].flatMap(({ pattern }) =>
      of("trained_parameters", pattern),
    ),
    ...(quantization?.skipModules ?? []).flatMap((pattern) => of("quantization.skip_modules", pattern)),
    ...String(optimizer.args["optim_target_modules"] ?? "")
      .split(",")
      .flatMap((pattern) => of("optim_target_modules", pattern)),
  ];
}
