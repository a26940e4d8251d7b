/**
 * Python's regular expressions out of configs, matched in time that grows with the text alone. `RegExp` takes
 * exponential time over some, and a port of RE2 (150 kB in each program) has no look-around, which real
 * `target_modules` are written with (`^(?!.*visual).*q_proj$`).
 */
import { PatternError, parsePattern } from "./parse";
import { compile, type Program, runs } from "./program";

/** Where a match must lie: `re.fullmatch`, `re.match`, `re.search`. */
export type Mode = "full" | "start" | "anywhere";

/** Names of modules are shorter; a longer text is matched nowhere. Characters. */
const LONGEST_TEXT = 10_000;

export type Compiled =
  | { readonly ok: true; readonly matches: (text: string, mode: Mode) => boolean }
  | { readonly ok: false; readonly kind: PatternError["kind"]; readonly reason: string };

/** Patterns and answers that are remembered: a run asks the same ones for every module of every try. */
const MOST_REMEMBERED = 200;
const MOST_ANSWERS = 4000;

const compiled = new Map<string, Compiled>();

/** Makes a pattern ready; says why not where Python would not take it or it has what is not matched in linear time. */
export function compilePattern(pattern: string): Compiled {
  let found = compiled.get(pattern);
  if (found === undefined) {
    found = made(pattern);
    if (compiled.size >= MOST_REMEMBERED) compiled.clear();
    compiled.set(pattern, found);
  }
  return found;
}

function made(pattern: string): Compiled {
  let program: Program;
  try {
    program = compile(parsePattern(pattern));
  } catch (error) {
    if (error instanceof PatternError) return { ok: false, kind: error.kind, reason: error.message };
    throw error;
  }
  const answers = new Map<string, boolean>();
  return {
    ok: true,
    matches: (text, mode) => {
      const key = `${mode} ${text}`;
      let answer = answers.get(key);
      if (answer === undefined) {
        answer = matches(program, text, mode);
        if (answers.size >= MOST_ANSWERS) answers.clear();
        answers.set(key, answer);
      }
      return answer;
    },
  };
}

function matches(program: Program, text: string, mode: Mode): boolean {
  const chars = [...text];
  const bounds = { from: 0, anchored: mode !== "anywhere", to: mode === "full" ? chars.length : null };
  return chars.length <= LONGEST_TEXT && runs(program, { chars, looks: new Map() }, bounds);
}

/** Whether a pattern matches; one that is none, or none that is matched here, does not. */
export function matchesPattern(pattern: string, text: string, mode: Mode): boolean {
  const found = compilePattern(pattern);
  return found.ok && found.matches(text, mode);
}
