/** Attributes that a script sets on what a call of it has made (`args.bf16 = True`), beside what the call was given. */
import type { Entry, PythonCall, PythonModule } from "../syntax/tree";

/** What is said, and when. */
export interface Said {
  readonly entry: Entry;
  readonly order: number;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Attributes that are set whatever happens, in their order.
 *
 * @param same methods that give the object back
 */
export function attributesSaid(
  call: PythonCall,
  { effects }: PythonModule,
  same: ReadonlySet<string> = NONE,
): readonly Said[] {
  return effects.flatMap(({ path, attribute, value, guards, order, start }): Said[] => {
    const { object, steps } = path;
    const at = object.kind === "unknown" ? (object.source ?? object) : object;
    const isOwn = steps.every((step) => step.kind === "call" && same.has(step.name));
    const entry = { key: attribute, keySpan: { start, end: value.start }, value };
    return isOwn && at.start === call.start && at.end === call.end && guards.length === 0 ? [{ entry, order }] : [];
  });
}

/** Attributes that are set whatever happens; `until`: before that place of the run. */
export function attributesSet(
  call: PythonCall,
  python: PythonModule,
  until: number = Number.MAX_SAFE_INTEGER,
): readonly Entry[] {
  return attributesSaid(call, python).flatMap(({ entry, order }) => (order < until ? [entry] : []));
}
