/**
 * The whole of the attacks that `npm test` runs a part of. Writes the figures of what was run into docs/security.md: each
 * campaign has its line there, so that they can be run one by one.
 *
 * usage: npm run attack [-- --every N] [--from K] [--only NAME]
 * N: of each campaign's inputs one in so many is tried, beginning with the one that has K before it. The server has to be built before.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Campaign } from "./attacks/campaign";
import { edits, growing, models, mutations, numbers, ownGraphs, shown, texts } from "./attacks/documents";
import { evidence } from "./attacks/evidence";
import { server } from "./attacks/server";
import { replaceBlock } from "./blocks";

const PAGE = join(__dirname, "../docs/security.md");
const CAMPAIGNS: Readonly<Record<string, Campaign>> = {
  texts,
  shown,
  numbers,
  models,
  ownGraphs,
  growing,
  edits,
  mutations,
  evidence,
  server,
};

/** Campaigns that try all they have, whatever share is asked for. */
const WHOLE: ReadonlySet<string> = new Set(["growing", "server"]);

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

const BLOCK = "attack";

/** The lines that the page has, by the campaigns that they are of. */
function linesOf(page: string): Map<string, string> {
  const [, block = ""] = page.split(`<!-- ${BLOCK} -->`);
  const [own = ""] = block.split(`<!-- /${BLOCK} -->`);
  return new Map([...own.matchAll(/^- \*\*(\w+)\*\*.*$/gm)].map(([line, name = ""]) => [name, line]));
}

async function main(): Promise<void> {
  const every = Number(option("every") ?? 1);
  const from = Number(option("from") ?? 0) % every;
  const only = option("only");
  const found = new Map<string, string>();
  let faults = 0;
  for (const [name, campaign] of Object.entries(CAMPAIGNS)) {
    if (only !== undefined && only !== name) continue;
    const outcome = await campaign(every, from);
    const memory = Math.round(process.memoryUsage().rss / 2 ** 20);
    faults += outcome.faults.length;
    const isGap = outcome.longestOf === "gap";
    const longest = isGap ? "the server's longest gap" : "the longest answer";
    const unit = isGap ? "ms" : "ms of processor time";
    const share = every === 1 || WHOLE.has(name) ? "" : `, one in ${every}`;
    const own = outcome.own === undefined ? "" : ` (of its own work at most ${Math.round(outcome.own)} ms at a time)`;
    const told = `${outcome.faults.length} faults, ${longest} ${Math.round(outcome.longest)} ${unit}${own}, ${memory} MiB`;
    found.set(name, `- **${name}**${share}: ${outcome.tried}: ${told}`);
    console.log(found.get(name), outcome.longestWhat ?? "");
    for (const fault of outcome.faults) console.log(`    ${fault.slice(0, 600)}`);
  }
  // Others may have written lines of theirs meanwhile.
  const page = readFileSync(PAGE, "utf8");
  const known = new Map([...linesOf(page), ...found]);
  const lines = Object.keys(CAMPAIGNS).flatMap((name) => known.get(name) ?? []);
  writeFileSync(PAGE, replaceBlock(page, BLOCK, lines.join("\n")));
  process.exitCode = faults === 0 ? 0 : 1;
}

main();
