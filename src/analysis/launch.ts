/**
 * The launch command of a run: a shell script in the config's folder or its parent that names the config says how
 * many processes there are. Nothing is executed.
 */
import type { Span } from "../syntax/tree";
import type { Setting } from "./settings";
import type { DocumentStore, LoadedDocument } from "./store";
import { baseName, joinUri } from "./uris";

const SCRIPT = /\.(?:sh|bash|slurm|sbatch)$|^Makefile$/i;
const MOST_SCRIPTS = 40;

interface Count extends Span {
  readonly value: number;
  readonly key: string;
}

/** World size that a launch script next to the config states. */
export async function launchSettings(
  main: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<{ document: LoadedDocument; settings: Setting[] } | undefined> {
  const name = baseName(main.uri);
  for (const folder of folders.slice(0, 2)) {
    const scripts = (await store.list(folder)).filter((entry) => entry.type === "file" && SCRIPT.test(entry.name));
    for (const script of scripts.slice(0, MOST_SCRIPTS)) {
      const uri = joinUri(folder, script.name);
      dependencies.add(uri);
      const document = await store.load(uri);
      if (document === undefined || !document.text.includes(name)) continue;
      const found = worldSize(document.text, name);
      if (found === undefined) continue;
      return {
        document,
        settings: [
          {
            name: "world_size",
            value: found.value,
            from: "linked",
            key: found.key,
            place: { uri, keySpan: found, valueSpan: found },
          },
        ],
      };
    }
  }
  return undefined;
}

const PER_NODE = /--(nproc[_-]per[_-]node|num_gpus|num[_-]processes)[= ]+(\d+)/;
const NODES = /--(?:nnodes|num_nodes|num[_-]machines)[= ]+(\d+)/;

/** Processes that the command naming `config` starts: per-node count times nodes (accelerate counts all at once). */
function worldSize(text: string, config: string): Count | undefined {
  for (const command of commands(text)) {
    if (!command.text.includes(config)) continue;
    const match = PER_NODE.exec(command.text);
    if (match === null) continue;
    const key = match[1] ?? "";
    const perNode = Number(match[2]);
    const nodes = key.startsWith("num_p") || key.startsWith("num-p") ? 1 : Number(NODES.exec(command.text)?.[1] ?? 1);
    const start = command.start + match.index;
    if (perNode >= 1) return { value: perNode * nodes, key: `--${key}`, start, end: start + match[0].length };
  }
  return undefined;
}

/** Logical lines of a script: continued lines joined (offsets kept), comments skipped. */
function* commands(text: string): Generator<{ text: string; start: number }> {
  const joined = text.replace(/\\(\r?\n)/g, (all) => " ".repeat(all.length));
  let start = 0;
  for (const line of joined.split("\n")) {
    if (!line.trimStart().startsWith("#")) yield { text: line, start };
    start += line.length + 1;
  }
}
