/** Python as the extension ships it: the code of `python/` line by line, without what is there for its readers. */
import { parser } from "@lezer/python";

/** Whether a statement is the first of its module, class or function. */
function isFirst({ parent, prevSibling }) {
  let before = prevSibling;
  while (before?.name === "Comment") before = before.prevSibling;
  return before === null ? parent.name === "Script" : before.name === ":";
}

/** The text without comments and docstrings; every statement stays on its line, as tracebacks name it. */
export function codeOf(text) {
  const cuts = [];
  parser.parse(text).iterate({
    enter(cursor) {
      const { name, from, to, node } = cursor;
      if (name === "Comment" && !text.startsWith("#!", from)) cuts.push({ from, to, code: "" });
      const isDocstring =
        name === "ExpressionStatement" && node.firstChild?.name === "String" && node.firstChild.to === to;
      // What is told of a command is its docstring.
      if (isDocstring && isFirst(node) && !text.includes("__doc__"))
        cuts.push({ from, to, code: node.parent.name === "Script" ? "" : "0" });
    },
  });
  let at = 0;
  let code = "";
  for (const cut of cuts) {
    code += text.slice(at, cut.from) + cut.code + text.slice(cut.from, cut.to).replace(/[^\n]/g, "");
    at = cut.to;
  }
  return code + text.slice(at);
}
