/**
 * YAML that a cluster runs: SkyPilot's tasks and Kubernetes' jobs. The script inside is read as a shell reads it, with every place
 * translated back into the YAML; what the job asks of the cluster stands where `#SBATCH` lines stand in a script.
 */
import { moved } from "../moved";
import { readScript } from "../shell";
import { mainCommand } from "../shell/main-command";
import { emptyMap } from "../text";
import type { Entry, LocatedNode, MapNode, ParsedDocument, ShellCommand, ShellScript, Span } from "../tree";
import { isScalar, type Job } from "./job";
import { kubernetesJob } from "./kubernetes";
import { skypilotJob } from "./skypilot";

/** The script of a job; undefined when the YAML is none. */
export function parseJob(original: string, { root, problems }: ParsedDocument): ParsedDocument | undefined {
  const job = root?.kind === "map" ? (skypilotJob(root) ?? kubernetesJob(root)) : undefined;
  if (job === undefined) return undefined;
  const shell = scriptOf(original, job);
  const command = mainCommand(shell);
  const entries = command === null ? [] : [...command.flags.entries, ...command.overrides.entries];
  const main: MapNode = { ...emptyMap({ start: 0, end: original.length }), entries };
  return { root: main, problems, syntax: "shell", shell };
}

/** A shell's text with the place of each of its characters in the document. */
class Joined {
  text = "";
  private readonly offsets: number[] = [];

  add(text: string, offsets: readonly number[]): void {
    this.text += text;
    for (const offset of offsets) this.offsets.push(offset);
  }

  /** The node as it stands in a remark of the script; longer than its value where it is written otherwise. */
  remark(node: LocatedNode, original: string): LocatedNode {
    if (!isScalar(node)) return node;
    const value = String(node.value);
    const text = original.slice(node.start, node.end) === value ? value : `${value} `;
    const last = Math.max(node.start, node.end - 1);
    this.add("\n#", [node.start, node.start]);
    const start = this.text.length;
    this.add(
      text.replace(/\n/g, " "),
      Array.from({ length: text.length }, (_, index) => Math.min(node.start + index, last)),
    );
    return { ...node, start, end: start + text.length };
  }

  readonly place = ({ start, end }: Span): Span => {
    const first = this.offsets[Math.min(start, this.offsets.length - 1)] ?? 0;
    const last = end > start ? this.offsets[Math.min(end, this.offsets.length) - 1] : undefined;
    return { start: first, end: last === undefined ? first : last + 1 };
  };
}

function scriptOf(original: string, { run, environment, asks }: Job): ShellScript {
  const joined = new Joined();
  const pieces = "words" in run ? run.words : run.script;
  for (const piece of pieces) {
    const value = "words" in run ? withVariables(String(piece.value)) : String(piece.value);
    const offsets = placesOf(original.slice(piece.start, piece.end), value).map((place) => piece.start + place);
    const quoted = "words" in run && /[\s;&|<>()*?#]/.test(value) && !value.includes("'");
    if (quoted) joined.add("'", [piece.start]);
    joined.add(value, offsets);
    joined.add(quoted ? "' " : " ", quoted ? [piece.end - 1, piece.end - 1] : [piece.end - 1]);
  }
  // What the job sets stands below the script as remarks, so that its places are translated, too.
  const known = environment.map((entry) => ({ ...entry, value: joined.remark(entry.value, original) }));
  const script = readScript(joined.text, known);
  return {
    commands: script.commands.map((command) => moved(given(command, known), joined.place)),
    variables: moved(script.variables, joined.place),
    directives: { ...emptyMap({ start: 0, end: original.length }), entries: [...asks] },
    ...("words" in run ? { sealed: true as const } : {}),
  };
}

/** The command with what the job sets for all of its programs; what is set for one of them wins. */
function given(command: ShellCommand, known: readonly Entry[]): ShellCommand {
  const own = command.environment.entries;
  const others = known.filter(({ key }) => own.every((entry) => entry.key !== key));
  const entries = [...others.map((entry) => ({ ...entry, keySpan: entry.value })), ...own];
  return { ...command, environment: { ...command.environment, entries } };
}

/** `$(NAME)` of a container's words is a variable of its environment. */
function withVariables(word: string): string {
  return word.replace(/\$\((\w{1,80})\)/g, (_, name: string) => `\${${name}}`);
}

/**
 * Where each character of a scalar's value is written, from the beginning of what is written: quotes, indentation, line ends that are
 * folded and escapes are passed over.
 */
function placesOf(written: string, value: string): readonly number[] {
  const places: number[] = [];
  // A block's header stands before its first line, its indentation before every line; elsewhere all blanks of a line's beginning are none of it.
  const header = /^[|>][^\n]*\n(?:[^\S\n]*\n)*/.exec(written)?.[0].length ?? 0;
  const indentation = header === 0 ? Number.POSITIVE_INFINITY : written.slice(header).search(/\S/);
  const inLine = (from: number): number => {
    let to = from;
    while (to < from + indentation && /[^\S\n]/.test(written.charAt(to))) to++;
    return to;
  };
  let at = header === 0 ? 0 : inLine(header);
  for (const character of value) {
    let found = at;
    const fits = (other: string) => other === character || (/\s/.test(character) && /[\s\\]/.test(other));
    while (found < written.length && !fits(written.charAt(found))) found++;
    if (found >= written.length) found = Math.min(at, Math.max(0, written.length - 1));
    for (let unit = 0; unit < character.length; unit++) places.push(found + unit);
    at = found + character.length;
    if (written.charAt(found) === "\n") at = inLine(at);
  }
  return places;
}
