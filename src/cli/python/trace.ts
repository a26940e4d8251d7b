/** A trace by a person's own Python: as it was kept in `.vramlens.yaml`, and kept there when it went well. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type AskedTrace, type KeptTrace, keeping, traceKept } from "../../analysis/models/traces";
import { nodeFiles } from "../../host/files";
import { pathOf, uriOf } from "../../host/node";
import { jsonOf } from "../../terms/json";
import type { Terminal } from "../io";
import type { PythonRequest } from "./request";

/** `model.py:GPT`: a file and what of it. */
const ENTRY = /^(.{1,4000}?\.py)(?::([\s\S]*))?$/;

/** The word behind an option; undefined where it is not there. */
function optionOf(words: readonly string[], option: string): string | undefined {
  const at = words.indexOf(option);
  return at < 0 ? words.find((word) => word.startsWith(`${option}=`))?.slice(option.length + 1) : words[at + 1];
}

/** What the words of a trace ask for. */
export function askedTrace({ rest, script }: Pick<PythonRequest, "rest" | "script">): AskedTrace {
  const [, file = script, entry = ""] = ENTRY.exec(script) ?? [];
  return {
    file: file.replace(/^\.\//, "").replaceAll("\\", "/"),
    entry,
    script: rest.includes("--script"),
    arguments: optionOf(rest, "--arguments") ?? "",
  };
}

/** The words of a trace with what was kept of the one before; what is said stands. */
export function withKept(words: readonly string[], kept: KeptTrace): readonly string[] {
  const said = (["arguments", "inputs", "loss"] as const).flatMap((field) => {
    const value = kept[field];
    const option = `--${field}`;
    return value === undefined || value === "" || optionOf(words, option) !== undefined ? [] : [option, value];
  });
  return [...words, ...said];
}

/** Runs a trace and keeps how it was made. */
export async function traceCommand(
  request: PythonRequest,
  { io, say }: Terminal,
  run: (words: readonly string[]) => Promise<number>,
): Promise<number> {
  const files = nodeFiles();
  const root = uriOf(resolve(io.cwd, optionOf(request.rest, "--root") ?? "."));
  const asked = askedTrace(request);
  const kept = await traceKept(files, root, asked);
  const words = kept === undefined ? request.rest : withKept(request.rest, kept);
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-"));
  try {
    const result = join(folder, "result.json");
    const status = await run([...(request.json ? ["--json"] : []), "--said", result, ...words]);
    if (status !== 0 || request.rest.includes("--show")) return status;
    const { name } = jsonOf(readFileSync(result, "utf8")) as { readonly name: string };
    const used = { ...asked, arguments: optionOf(words, "--arguments") ?? "" };
    const change = await keeping(files, root, name, used);
    if (change !== undefined) {
      writeFileSync(pathOf(change.edit.uri) ?? "", change.text);
      io.stderr(`vram-lens: ${say("python-kept", { name })}\n`);
    }
    return status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
