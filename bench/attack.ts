/**
 * The whole of the attacks that `npm test` runs a part of. Writes the figures into docs/security.md.
 *
 * usage: npm run attack [-- --every N] [-- --only NAME]
 * N: of each campaign's inputs one in so many is tried. The server has to be built before.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Campaign } from "./attacks/campaign";
import { edits, growing, models, mutations, numbers, ownGraphs, texts } from "./attacks/documents";
import { evidence } from "./attacks/evidence";
import { server } from "./attacks/server";
import { replaceBlock } from "./blocks";

const PAGE = join(__dirname, "../docs/security.md");
const CAMPAIGNS: Readonly<Record<string, Campaign>> = {
  texts,
  numbers,
  models,
  ownGraphs,
  growing,
  edits,
  mutations,
  evidence,
  server,
};

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

async function main(): Promise<void> {
  const every = Number(option("every") ?? 1);
  const only = option("only");
  const lines: string[] = [];
  const faults: string[] = [];
  let memory = 0;
  for (const [name, campaign] of Object.entries(CAMPAIGNS)) {
    if (only !== undefined && only !== name) continue;
    const outcome = await campaign(every);
    memory = Math.max(memory, process.memoryUsage().rss);
    faults.push(...outcome.faults);
    const longest = outcome.longestOf === "gap" ? "the server's longest gap" : "the longest answer";
    lines.push(`- ${outcome.tried}: ${outcome.faults.length} faults, ${longest} ${Math.round(outcome.longest)} ms`);
    console.log(lines.at(-1), outcome.longestWhat ?? "");
    for (const fault of outcome.faults) console.log(`    ${fault.slice(0, 600)}`);
  }
  const share = every === 1 ? "Everything was tried." : `One input in ${every} was tried (\`--every ${every}\`).`;
  const text = `${share} At most ${Math.round(memory / 2 ** 20)} MiB in the process that asks.\n\n${lines.join("\n")}`;
  if (only === undefined) writeFileSync(PAGE, replaceBlock(readFileSync(PAGE, "utf8"), "attack", text));
  process.exitCode = faults.length === 0 ? 0 : 1;
}

main();
