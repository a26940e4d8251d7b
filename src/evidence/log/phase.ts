/**
 * In which part of a run a traceback's frames lie. Frames are walked from the outside in; a rule says what being inside of a
 * function means, and which parts that were entered before it stay what they are: a forward pass inside an evaluation is the
 * evaluation, one inside of backward is recomputation.
 */
import type { Frame } from "./frames";
import { type Part, RULES, type Rule } from "./phase-rules";

function fits(rule: Rule, { file, name, code }: Frame): boolean {
  return (
    (rule.files === undefined || rule.files.some((part) => file.includes(part))) &&
    (rule.names === undefined || rule.names.includes(name)) &&
    (rule.code === undefined || rule.code.some((part) => code.includes(part)))
  );
}

export interface PartOfRun {
  readonly part: Part;
  /** The frame that decided it; null: a warning's words did. */
  readonly frame: Frame | null;
}

/** Parts that a call inside of them does not leave, unless its rule ends them. */
function enters(rule: Rule, now: Part | undefined): boolean {
  return now === undefined || rule.ends === "all" || rule.ends.includes(now);
}

/** What a frame says, once for each: frames of a recording are shared by thousands of stacks. */
const ruled = new WeakMap<Frame, Rule | null>();

function ruleOf(frame: Frame): Rule | undefined {
  let rule = ruled.get(frame);
  if (rule === undefined) {
    rule = RULES.find((one) => fits(one, frame)) ?? null;
    ruled.set(frame, rule);
  }
  return rule ?? undefined;
}

/**
 * The part of the run in which the innermost frame lies; null where no frame says it.
 *
 * @param frames outermost first
 */
export function partOf(frames: readonly Frame[]): PartOfRun | null {
  const entered: PartOfRun[] = [];
  for (const frame of frames) {
    const rule = ruleOf(frame);
    const now = entered.at(-1)?.part;
    if (rule !== undefined && rule.part !== now && enters(rule, now)) entered.push({ part: rule.part, frame });
  }
  return entered.at(-1) ?? null;
}
