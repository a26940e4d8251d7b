/** Leaves the commands of a Dockerfile as shell text; everything else is blanked. */
export function dockerfile(text: string): string {
  let result = "";
  let keep = false;
  let continued = false;
  for (const line of text.match(/[^\n]*(?:\n|$)/g) ?? []) {
    const instruction = continued ? null : /^\s*(RUN|CMD|ENTRYPOINT|ENV|ARG)\s+/i.exec(line);
    if (!continued) keep = instruction !== null;
    continued = /\\\r?\n?$/.test(line) || (continued && /^\s*#/.test(line));
    if (!keep) {
      result += line.replace(/[^\n]/g, " ");
      continue;
    }
    let body = line;
    if (instruction !== null) {
      body = " ".repeat(instruction[0].length) + line.slice(instruction[0].length);
    }
    if (/^\s*\[\s*"/.test(body))
      body = body.replace(/("(?:[^"\\]|\\.)*"?)|[[\],]/g, (_, quoted: string | undefined) => quoted ?? " ");
    result += body;
  }
  return result;
}
