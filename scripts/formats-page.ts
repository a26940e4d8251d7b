/** Writes `docs/formats.md` from the formats' tables of keys. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FORMATS, SCHEMAS } from "../src/formats";
import { JOB_KEYS } from "../src/formats/jobs/keys";
import type { Format, KeySpec } from "../src/formats/types";
import { EFFECTS } from "../src/words/en/effects";

/** Memory-relevant keys of all formats of an id, each once. */
function keysOf(formats: readonly Format[]): readonly KeySpec[] {
  const keys = new Map<string, KeySpec>();
  for (const format of formats)
    for (const key of format.keys) if (key.memory && !keys.has(key.key)) keys.set(key.key, key);
  return [...keys.values()];
}

function row(key: KeySpec): string {
  const aliases =
    key.aliases === undefined || key.aliases.length === 0
      ? ""
      : `, ${key.aliases.map((alias) => `\`${alias}\``).join(", ")}`;
  const fallback =
    key.default === undefined || key.default === null || key.default === "" ? "" : `\`${String(key.default)}\``;
  return `| \`${key.key}\`${aliases} | ${fallback} | ${EFFECTS[key.effect].replaceAll("|", "\\|")} |`;
}

/** Markdown of `docs/formats.md`. */
export function formatsPage(): string {
  const ids = (Object.keys(SCHEMAS) as (keyof typeof SCHEMAS)[]).sort();
  const lines = [
    "# Formats",
    "",
    "What VRAM Lens reads, and the keys of each format that change GPU memory. Made from the tables in `src/formats` by `npm run generate`.",
    "",
    "| format | id | where it is found |",
    "|---|---|---|",
    ...ids.map((id) => `| [${SCHEMAS[id].title}](#${id}) | \`${id}\` | ${SCHEMAS[id].foundIn} |`),
    "",
  ];
  for (const id of ids) {
    const keys = keysOf(FORMATS.filter((format) => format.id === id));
    lines.push(
      `<a id="${id}"></a>`,
      "",
      `## ${SCHEMAS[id].title}`,
      "",
      "| key | default | what it does |",
      "|---|---|---|",
      ...keys.map(row),
      "",
    );
  }
  lines.push(
    '<a id="jobs"></a>',
    "",
    "## Jobs of clusters",
    "",
    "SkyPilot's tasks and Kubernetes' jobs (Job, JobSet, PyTorchJob, MPIJob, …) are scripts in YAML: what they run is read as a shell reads it,",
    "in whichever format it is, and a config that they start knows what they say. `#SBATCH` lines ask for the same.",
    "",
    "| key | what it says |",
    "|---|---|",
    ...JOB_KEYS.map(
      ({ key, aliases = [], effect }) =>
        `| ${[key, ...aliases].map((name) => `\`${name}\``).join(", ")} | ${EFFECTS[effect]} |`,
    ),
    "",
  );
  return lines.join("\n");
}

if (process.argv[1]?.endsWith("formats-page.ts") === true)
  writeFileSync(join(__dirname, "../docs/formats.md"), formatsPage());
