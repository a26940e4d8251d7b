/**
 * Modules put behind the one that imports them, so that all are read as one: each stands there whole, with blanks for what is not asked
 * of it, so that every place in it can be told. Names keep their length: one that two modules bind is spelled otherwise in the second,
 * and `module.name` becomes one name.
 */
import { blank } from "../text";
import { attributesOf, placesOf, type Statement } from "./statements";

/** A module with what others ask of it. */
export interface Piece {
  readonly text: string;
  /** Its statements, those that are kept; the importing module's are all. */
  readonly kept: readonly Statement[];
  /** What its imports bind, by where that stands: a piece's number, and the name there; null: that whole module. */
  readonly imports: ReadonlyMap<string, { readonly piece: number; readonly name: string | null }>;
}

export interface Together {
  readonly text: string;
  /** Where each piece's text begins. */
  readonly starts: readonly number[];
}

const FIRST = /^[A-Za-z]/;

/** Another spelling of a name, as long, that nothing is called by; undefined: there is none. */
function otherSpelling(name: string, taken: ReadonlySet<string>): string | undefined {
  const [first = ""] = name;
  if (!FIRST.test(name) || name.length < 3) return undefined;
  const letters = first === first.toUpperCase() ? "QXZJKVW" : "qxzjkvw";
  for (const letter of letters) {
    const other = letter + name.slice(1);
    if (!taken.has(other)) return other;
  }
  return undefined;
}

/** @param pieces the importing module first, then those it imports, each behind those that it imports itself */
export function putTogether(pieces: readonly Piece[]): Together {
  const taken = new Set<string>();
  const spellings: ReadonlyMap<string, string>[] = [];
  for (const [at, { kept }] of pieces.entries()) {
    const own = new Map<string, string>();
    for (const { binds, imports } of kept)
      for (const name of imports ? [] : binds) {
        const other = at > 0 && taken.has(name) ? otherSpelling(name, taken) : undefined;
        if (other !== undefined) own.set(name, other);
        taken.add(other ?? name);
      }
    spellings.push(own);
  }
  const glue = new Map<string, string>();
  const texts = pieces.map((piece, at) => {
    const own = spellings[at] ?? new Map<string, string>();
    const name = (target: { readonly piece: number }, one: string) => spellings[target.piece]?.get(one) ?? one;
    const modules = new Set<string>();
    for (const [local, target] of piece.imports)
      if (target.name === null) modules.add(local);
      else if (local !== name(target, target.name)) glue.set(local, name(target, target.name));
    const shown = at === 0 ? piece.text : onlyKept(piece.text, piece.kept);
    const edits = placesOf(shown, new Set(own.keys())).map((place) => ({ ...place, text: own.get(place.name) ?? "" }));
    for (const { start, end, module, name: attribute } of attributesOf(shown, modules)) {
      const target = piece.imports.get(module);
      const joined = shown.slice(start, end).replaceAll(".", "_");
      if (target === undefined || !/^\w+$/.test(joined)) continue;
      glue.set(joined, name(target, attribute));
      edits.push({ name: attribute, start, end, text: joined });
    }
    return replaced(shown, edits);
  });
  let text = "";
  const starts: number[] = [];
  for (const one of texts) {
    starts.push(text.length);
    text += `${one}\n`;
  }
  for (const [local, target] of glue) text += `${local} = ${target}\n`;
  return { text, starts };
}

function onlyKept(text: string, kept: readonly Statement[]): string {
  let shown = "";
  let at = 0;
  for (const { start, end } of kept) {
    shown += blank(text.slice(at, start)) + text.slice(start, end);
    at = end;
  }
  return shown + blank(text.slice(at));
}

function replaced(text: string, edits: readonly { start: number; end: number; text: string }[]): string {
  let result = "";
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    if (edit.start < at || edit.text.length !== edit.end - edit.start) continue;
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}
