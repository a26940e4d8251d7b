/**
 * The whole of the attacks that `npm test` runs a part of: names that every object has and hostile texts, in every text
 * and every key of a run in each format. Writes the figures into docs/security.md.
 *
 * usage: npm run attack
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../src/analysis";
import { memoryRuntime, uri } from "../test/analysis/memory-runtime";
import { faultsOf } from "../test/attack/judge";
import { NAMES, replaced, scalarsOf } from "../test/attack/mutations";
import { SEEDS } from "../test/attack/seeds";

const PAGE = join(__dirname, "../docs/security.md");

/** Texts that do something where they are shown, or to what reads them. */
const TEXTS = [
  "![x](https://x/y)`\n[l](command:x)",
  "\u001b]52;c;aGk=\u0007",
  "(a+)+$",
  "../".repeat(2000),
  "/dev/zero",
  "//host/x",
];

async function main(): Promise<void> {
  const kinds = { keys: 0, texts: 0 };
  const faults: string[] = [];
  let longest = 0;
  let memory = 0;
  for (const [name, { main: document, files }] of Object.entries(SEEDS)) {
    for (const [path, text] of Object.entries(files)) {
      const quoted = path.endsWith(".json");
      for (const scalar of scalarsOf(uri(path), text)) {
        const places = [
          ...(scalar.key === undefined ? [] : NAMES.slice(0, 2).map((value) => ["keys", scalar.key, value] as const)),
          ...(scalar.kind === "text"
            ? [...NAMES.slice(0, 2), ...TEXTS].map((value) => ["texts", scalar, value] as const)
            : []),
        ];
        for (const [kind, span, value] of places) {
          if (span === undefined) continue;
          const written = quoted || kind === "texts" ? JSON.stringify(value) : value;
          const changed = { ...files, [path]: replaced(text, span, written) };
          const started = performance.now();
          const analysis = await createAnalyzer(memoryRuntime(changed)).analyse(uri(document), { device: "RTX 4090" });
          longest = Math.max(longest, performance.now() - started);
          memory = Math.max(memory, process.memoryUsage().rss);
          kinds[kind] += 1;
          for (const fault of faultsOf(analysis)) faults.push(`${name} ${path}${scalar.path} = ${value}: ${fault}`);
        }
      }
    }
  }
  const figures = [
    `${kinds.texts} values and ${kinds.keys} keys changed in ${Object.keys(SEEDS).length} runs, each analysed from nothing:`,
    `${faults.length} faults, the longest answer ${Math.round(longest)} ms, at most ${Math.round(memory / 2 ** 20)} MiB in the one process.`,
  ].join("\n");
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(
    PAGE,
    page.replace(/(<!-- attack -->\n)[\s\S]*(<!-- \/attack -->)/, (_, open, close) => `${open}${figures}\n${close}`),
  );
  console.log(figures);
  for (const fault of faults) console.log(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

main();
