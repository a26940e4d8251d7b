/**
 * What TrainingArguments, TRL and other HF Trainer configs have in common: a map of arguments (at the root or under
 * a key), read by a table, with links to the model and to DeepSpeed.
 */

import type { Entry, LocatedNode, MapNode, SyntaxProblem } from "../syntax/tree";
import { table } from "../terms/table";
import { readDeepspeedBlock } from "./deepspeed/read";
import { editByTable } from "./edit";
import { type ReadPolicy, readByTable } from "./reader";
import { NOT_RECOGNISED, type Recognition } from "./recognition";
import { type KeyTable, lastEntries, problem, tableOf } from "./table";
import type {
  ConfigDocument,
  DocumentLink,
  EditResult,
  Format,
  FormatProblem,
  KeySpec,
  LocatedSetting,
  ProblemFix,
  ReadResult,
  SchemaId,
  SettingChange,
} from "./types";

/** Knowledge of one trainer format. */
export interface TrainerFormat {
  readonly id: SchemaId;
  readonly keys: readonly KeySpec[];
  readonly otherKeys: readonly string[];
  /** Text that looks like a number is converted: TRL's parser does, a plain dataclass does not. */
  readonly convertsText: boolean;
  /** Settings that follow from several keys. */
  readonly derive?: (settings: readonly LocatedSetting[]) => readonly LocatedSetting[];
  readonly recognise: (root: MapNode, names: ReadonlySet<string>, languageId: string) => Recognition;
}

/** A map found in a document, with the dotted path it stands at (`""` for the root). */
interface Found {
  readonly map: MapNode;
  readonly path: string;
}

function* maps(node: LocatedNode | null, path: string, depth: number): Generator<Found> {
  if (node?.kind !== "map" || depth > 3) return;
  yield { map: node, path };
  for (const entry of lastEntries(node)) {
    yield* maps(entry.value, path === "" ? entry.key : `${path}.${entry.key}`, depth + 1);
  }
}

/** The map that holds most of a table's keys: the root, or one below it in a YAML that nests the arguments. */
function argumentsMap(root: LocatedNode | null, table: KeyTable, marks: ReadonlySet<string>): Found | undefined {
  let best: Found | undefined;
  let bestCount = 0;
  for (const found of maps(root, "", 0)) {
    let count = 0;
    for (const entry of found.map.entries) if (marks.has(entry.key) && table.byPath.has(entry.key)) count++;
    if (count > bestCount) {
      best = found;
      bestCount = count;
    }
  }
  return best;
}

export function trainerFormat(spec: TrainerFormat): Format {
  const table = tableOf(spec.keys);
  const topLevel = new Set([...table.byPath.keys()].filter((key) => !key.includes(".")));
  const other: ReadonlySet<string> = new Set(spec.otherKeys);
  const policy: ReadPolicy = {
    strict: true,
    convertsText: () => spec.convertsText,
    unknownKeys: {
      knows: (_name, path) => other.has(path),
      others: (parent) => (parent === "" ? other : []),
      looksAt: (parent) => !FREE.has(parent),
    },
  };

  function read(document: ConfigDocument): ReadResult {
    const { root } = document.parsed;
    const settings: LocatedSetting[] = [];
    const links: DocumentLink[] = [];
    const problems: FormatProblem[] = strictness(document);
    const main = argumentsMap(root, table, topLevel);
    if (root?.kind !== "map" || main === undefined) return { settings, links, problems };
    const own = readByTable(main.map, table, policy, main.path);
    settings.push(...own.settings);
    problems.push(...own.problems);
    if (main.path !== "") {
      // A nested layout keeps the model and the data beside the training arguments.
      for (const found of maps(root, "", 0)) {
        if (found.map === main.map || isInside(found.map, main.map)) continue;
        const side = readByTable(onlyKnown(found.map, table), table, policy, found.path);
        const known = new Set(settings.map((setting) => setting.name));
        settings.push(...side.settings.filter((s) => !known.has(s.name)));
      }
    }
    settings.push(...(spec.derive?.(settings) ?? []));
    for (const setting of settings) linkOf(setting, links);
    const block = readDeepspeedBlock(settings);
    settings.push(...block.settings);
    problems.push(...block.problems);
    return { settings, links, problems };
  }

  return {
    id: spec.id,
    keys: spec.keys,
    recognise(document) {
      const main = argumentsMap(document.parsed.root, table, topLevel);
      const carried = document.parsed.python !== undefined || document.parsed.shell !== undefined;
      if (carried || document.parsed.root?.kind !== "map" || main === undefined) return NOT_RECOGNISED;
      const names = new Set(main.map.entries.map((entry: Entry) => entry.key));
      const result = spec.recognise(main.map, names, document.languageId);
      return main.path === "" ? result : { ...result, confidence: result.confidence * 0.7 };
    },
    read,
    edit(document: ConfigDocument, changes: readonly SettingChange[]): EditResult {
      return editByTable(
        document,
        spec.keys,
        read(document),
        changes,
        argumentsMap(document.parsed.root, table, topLevel),
      );
    },
  };
}

/** Maps whose content belongs to somebody else. */
const FREE = new Set([
  "gradient_checkpointing_kwargs",
  "model_init_kwargs",
  "accelerator_config",
  "liger_kernel_config",
  "fsdp_config",
  "parallelism_config",
  "deepspeed",
]);

function isInside(inner: MapNode, outer: MapNode): boolean {
  return inner.start >= outer.start && inner.end <= outer.end;
}

function onlyKnown(map: MapNode, table: KeyTable): MapNode {
  return { ...map, entries: map.entries.filter((entry) => table.byPath.has(entry.key)) };
}

function linkOf(setting: LocatedSetting, links: DocumentLink[]): void {
  if (typeof setting.value !== "string" || setting.value === "") return;
  const kind = LINKS[setting.name ?? ""];
  if (kind === undefined) return;
  if (kind === "engine" && setting.value.trim().startsWith("{")) return;
  links.push({ kind, target: setting.value, span: setting.valueSpan });
}

const LINKS: Readonly<Record<string, DocumentLink["kind"]>> = table({
  model: "model",
  config_name: "model",
  deepspeed: "engine",
  fsdp_config: "options",
});

/** What makes a place strict JSON; nothing that is read changes. */
export function strictMend({ mend, start, end }: SyntaxProblem): readonly ProblemFix[] {
  return mend === undefined
    ? []
    : [{ title: { id: "fix.strict-json", args: {} }, safe: true, replace: { start, end, newText: mend } }];
}

/** JSON for the HF Trainer is strict JSON: `json.load` reads it. */
function strictness(document: ConfigDocument): FormatProblem[] {
  if (document.languageId !== "json") return [];
  return document.parsed.problems
    .filter((found) => found.code === "not-strict-json")
    .map((found) => problem("strict-json", "error", found, "strict-json.hf", {}, strictMend(found)));
}
