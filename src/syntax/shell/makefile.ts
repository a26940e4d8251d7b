/** Makefiles: their variables are set, their recipes are shell text. */
import { blankField, concatenate, type Field } from "./fields";
import { lexShell } from "./lexer";
import type { ShellSource } from "./tokens";
import type { Variables } from "./variables";

/** Reads the variable definitions of a Makefile and leaves its recipes as shell text. */
export function makefile(text: string, variables: Variables): string {
  let result = "";
  let continuedRecipe = false;
  const lines = text.match(/[^\n]*(?:\n|$)/g) ?? [];
  let offset = 0;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const definition = /^(?:export\s+)?([A-Za-z_][\w.-]*)[ ]*(\?|:{1,3}|\+)?=[ \t]*/.exec(line);
    const recipe = line.startsWith("\t") || continuedRecipe;
    if (recipe) {
      result += line.replace(/^\t[@+-]*/, (prefix) => " ".repeat(prefix.length));
      continuedRecipe = /\\\r?\n?$/.test(line);
    } else if (definition !== null) {
      let whole = line;
      let end = index;
      while (/\\\r?\n?$/.test(whole) && end + 1 < lines.length) whole += lines[++end] ?? "";
      const from = offset + definition[0].length;
      const value = (whole.slice(definition[0].length).split(/\s#/, 1)[0] ?? "").trimEnd();
      const source: ShellSource = {
        text: `"${value.replaceAll('"', " ")}"`,
        at: (place) => from + Math.max(0, place - 1),
      };
      const tokens = lexShell(source, { make: true }, []);
      const token = tokens[0];
      if (token?.kind === "word")
        define(variables, definition, { ...variables.joined(token.word), start: from, end: from + value.length });
      result += whole.replace(/[^\n]/g, " ");
      offset += whole.length;
      index = end;
      continue;
    } else result += line.replace(/[^\n]/g, " ");
    offset += line.length;
  }
  return result;
}

function define(variables: Variables, definition: RegExpExecArray, field: Field): void {
  const [, name = "", kind = ""] = definition;
  const before = variables.get(name);
  if (kind === "?" && before !== undefined) return;
  variables.set(name, {
    kind: "text",
    field:
      kind === "+" && before?.kind === "text"
        ? variables.appended(before.field, concatenate(blankField(before.field), field))
        : field,
  });
}
