/** Globs of the pins' `match`: `*` and `?` inside a path segment, `**` across segments, `{a,b}` for alternatives. */
import { matchesPattern } from "../../terms/pattern";

/** Whether a path (with `/`, relative to the pins file) matches. A pattern without `/` matches in any folder. */
export function matchesGlob(pattern: string, path: string): boolean {
  return matchesPattern(translated(pattern), path, "full");
}

/** The pattern as Python's `re` writes it: matched in linear time, whatever a file holds. */
function translated(pattern: string): string {
  const clean = pattern.replace(/^\.\//, "");
  const lastBrace = clean.lastIndexOf("}");
  let source = clean.includes("/") ? "" : "(?:.*/)?";
  let braces = 0;
  for (let index = 0; index < clean.length; index++) {
    const char = clean.charAt(index);
    if (char === "*") {
      if (clean.charAt(index + 1) === "*") {
        const slash = clean.charAt(index + 2) === "/";
        source += slash ? "(?:.*/)?" : ".*";
        index += slash ? 2 : 1;
      } else source += "[^/]*";
    } else if (char === "?") source += "[^/]";
    else if (char === "{" && index < lastBrace) {
      source += "(?:";
      braces++;
    } else if (char === "}" && braces > 0) {
      source += ")";
      braces--;
    } else if (char === "," && braces > 0) source += "|";
    else source += char.replace(/[\\^$.|+()[\]{}]/g, "\\$&");
  }
  return source + ")".repeat(braces);
}
