/** Globs of the pins' `match`: `*` and `?` inside a path segment, `**` across segments, `{a,b}` for alternatives. */

const cache = new Map<string, RegExp>();

/** Whether a path (with `/`, relative to the pins file) matches. A pattern without `/` matches in any folder. */
export function matchesGlob(pattern: string, path: string): boolean {
  let expression = cache.get(pattern);
  if (expression === undefined) {
    expression = compile(pattern);
    if (cache.size > 500) cache.clear();
    cache.set(pattern, expression);
  }
  return expression.test(path);
}

function compile(pattern: string): RegExp {
  const clean = pattern.replace(/^\.\//, "");
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
    else if (char === "{" && clean.includes("}", index)) {
      source += "(?:";
      braces++;
    } else if (char === "}" && braces > 0) {
      source += ")";
      braces--;
    } else if (char === "," && braces > 0) source += "|";
    else source += char.replace(/[\\^$.|+()[\]{}]/g, "\\$&");
  }
  try {
    return new RegExp(`^${source}${")".repeat(braces)}$`);
  } catch {
    return /^(?!)/;
  }
}
