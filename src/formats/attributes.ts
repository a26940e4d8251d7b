/** Attributes that a script sets on what a call of it has made (`args.bf16 = True`), beside what the call was given. */
import type { Entry, PythonCall, PythonModule } from "../syntax/tree";

/** Those that are set whatever happens, in their order; `until`: before that place of the run. */
export function attributesSet(
  call: PythonCall,
  { effects }: PythonModule,
  until: number = Number.MAX_SAFE_INTEGER,
): readonly Entry[] {
  return effects.flatMap(({ path, attribute, value, guards, order, start }): Entry[] => {
    const { object, steps } = path;
    const at = object.kind === "unknown" ? (object.source ?? object) : object;
    const isOwn = steps.length === 0 && at.start === call.start && at.end === call.end;
    const entry = { key: attribute, keySpan: { start, end: value.start }, value };
    return isOwn && guards.length === 0 && order < until ? [entry] : [];
  });
}
