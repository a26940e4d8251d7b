/** A script as somebody runs it: with its arguments, its launcher and the releases that are installed, as documents say such things. */
import { DIRECTIVE_ALIASES } from "../../formats/pins";
import type { Runtime } from "../runtime";

/** How a script is run. */
export interface CommandRun {
  /** The script. */
  readonly uri: string;
  /** Its name as the command has it. */
  readonly script: string;
  /** Its own arguments, each as a shell is given it. */
  readonly words: readonly string[];
  /** The config of `accelerate launch`, as a shell is given it; empty: it is run by Python itself. */
  readonly accelerate: string;
  /** Installed releases, by the library's name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** What stands beside the script while it is looked at; no file of this name is read or written. */
const NAME = ".vram-lens-command.sh";

/** The document that says how a script is run, and a runtime that has it: the script itself where it is run without anything. */
export async function commandDocument(
  { uri, script, words, accelerate, versions }: CommandRun,
  runtime: Runtime,
): Promise<{ readonly uri: string; readonly runtime: Runtime }> {
  const releases = Object.entries(versions)
    .filter(([library, release]) => DIRECTIVE_ALIASES[library] !== undefined && /^[\w.+-]{1,40}$/.test(release))
    .map(([library, release]) => `# vramlens: ${library}=${release}\n`)
    .join("");
  if (words.length === 0 && accelerate === "") {
    const text = await runtime.files.readText(uri);
    return { uri, runtime: text === undefined ? runtime : overlaid(runtime, uri, `${text}\n${releases}`) };
  }
  const launcher = accelerate === "" ? "python" : `accelerate launch --config_file ${accelerate}`;
  const at = new URL(NAME, uri).href;
  return { uri: at, runtime: overlaid(runtime, at, `${releases}${[launcher, script, ...words].join(" ")}\n`) };
}

/** A runtime with another text at one place. */
function overlaid(runtime: Runtime, uri: string, text: string): Runtime {
  const { files } = runtime;
  const resolve = files.resolve?.bind(files);
  return {
    ...runtime,
    files: {
      readText: async (one) => (one === uri ? text : files.readText(one)),
      stat: async (one) => (one === uri ? { type: "file", size: text.length, mtime: 0 } : files.stat(one)),
      list: (one) => files.list(one),
      ...(resolve && { resolve: async (one: string) => (one === uri ? uri : resolve(one)) }),
    },
  };
}
