/**
 * This tree beside an earlier one of the project, on one machine and in turn: bars that were set on another machine hold by what
 * the earlier tree takes on this one. Writes a part of docs/performance.md.
 *
 * usage: npm run beside, in a clone that has the earlier commit
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SERVER_ENVIRONMENT } from "../src/server/environment";
import { replaceBlock } from "./blocks";
import { quantile } from "./quantile";
import { serverMemory } from "./resident";

const root = join(__dirname, "..");
const PAGE = join(root, "docs", "performance.md");
/** The tree that the bars were set for, and what was measured of it then. */
const EARLIER = "5114d8ae65164bbe12246cc8c89fc07af8dd1387";

interface Bar {
  readonly what: string;
  readonly unit: "ms" | "MB";
  /** What the earlier tree took where the bar was set, and the bar. */
  readonly was: number;
  readonly bar: number;
}

const COLD: Bar = { what: "cold command-line check of one config that fits", unit: "ms", was: 305, bar: 250 };
const AGAIN: Bar = { what: "re-estimate after one key changed, 32 layers", unit: "ms", was: 11, bar: 8 };
const SEARCH_16: Bar = { what: "search for plans, 16 layers (1.2 B)", unit: "ms", was: 186, bar: 150 };
const SEARCH_32: Bar = { what: "search for plans, 32 layers (8 B)", unit: "ms", was: 334, bar: 150 };
const MEMORY: Bar = {
  what: "language server with the four samples open, at rest",
  unit: "MB",
  was: 129,
  bar: 100,
};

/** Rounds that count, and those before in which code is compiled. */
const ROUNDS = 31;
const WARM = 30;
const SEARCHES = 11;
const WARM_SEARCHES = 5;
const COLD_STARTS = 11;
const SERVERS = 3;

/** Both trees' figures of one kind, round by round. */
interface Pairs {
  readonly before: number[];
  readonly now: number[];
}

/** The benchmark program of a tree, which answers lines. */
class Probe {
  private readonly child: ChildProcess;
  private readonly lines: AsyncIterator<string>;

  constructor(tree: string) {
    this.child = spawn(process.execPath, [join(tree, "scripts", "bench.mjs"), "probe"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
  }

  async ask(question: string): Promise<readonly number[]> {
    this.child.stdin!.write(`${question}\n`);
    const { value } = await this.lines.next();
    return JSON.parse(value);
  }

  end(): void {
    this.child.stdin!.end();
  }
}

/** The earlier tree, built, with today's program that asks it. */
function earlierTree(): string {
  const tree = mkdtempSync(join(tmpdir(), "vram-lens-earlier-"));
  const archive = execFileSync("git", ["-C", root, "archive", EARLIER], { maxBuffer: 2 ** 30 });
  execFileSync("tar", ["x", "-C", tree], { input: archive });
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  for (const path of ["bench/probe.ts", "scripts/bench.mjs"]) copyFileSync(join(root, path), join(tree, path));
  execFileSync(process.execPath, [join("scripts", "build.mjs")], { cwd: tree, stdio: "ignore" });
  return tree;
}

/** A whole process: start of Node, reading, estimating, printing. */
function coldCheck(tree: string): number {
  const file = join(tree, "samples", "gpt2-scratch", "train.yaml");
  const started = performance.now();
  execFileSync(process.execPath, [join(tree, "dist", "cli.js"), "check", "--fail-on", "never", file], {
    stdio: "ignore",
  });
  return performance.now() - started;
}

/** Asks both trees the same in turn, as often as `counted` after `warm` rounds that do not count. */
async function inTurn(
  counted: number,
  warm: number,
  [before, now]: readonly [() => Promise<readonly number[]>, () => Promise<readonly number[]>],
): Promise<readonly Pairs[]> {
  const pairs: Pairs[] = [];
  for (let round = 0; round < warm + counted; round++) {
    const [was, is] = [await before(), await now()];
    if (round < warm) continue;
    for (const [index, one] of was.entries()) {
      pairs[index] ??= { before: [], now: [] };
      pairs[index].before.push(one);
      pairs[index].now.push(is[index]!);
    }
  }
  return pairs;
}

function row({ what, unit, was, bar }: Bar, { before, now }: Pairs): string {
  const [best, bestBefore] = [Math.min(...now), Math.min(...before)];
  const ratio = quantile(
    now.map((one, round) => one / before[round]!),
    0.5,
  );
  const show = (value: number): string => `${value < 20 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
  const cells = [
    show(bestBefore),
    show(best),
    ratio.toFixed(2),
    (best / bestBefore).toFixed(2),
    `${bar} of ${was} ${unit}`,
  ];
  return `| ${what} | ${cells.join(" | ")} | ${(bar / was).toFixed(2)} |`;
}

async function main(): Promise<void> {
  const tree = earlierTree();
  const probes = [new Probe(tree), new Probe(root)] as const;
  try {
    const asking = (question: string) => [() => probes[0].ask(question), () => probes[1].ask(question)] as const;
    const [again] = await inTurn(ROUNDS, WARM, asking("estimate"));
    const [small, large] = await inTurn(SEARCHES, WARM_SEARCHES, asking("search"));
    for (const probe of probes) probe.end();
    const alone = (of: (tree: string) => Promise<number>) =>
      [async () => [await of(tree)], async () => [await of(root)]] as const;
    const [cold] = await inTurn(
      COLD_STARTS,
      1,
      alone((one) => Promise.resolve(coldCheck(one))),
    );
    const [memory] = await inTurn(
      SERVERS,
      1,
      alone(async (one) => (await serverMemory(one, one === root ? SERVER_ENVIRONMENT : {})) / 1e6),
    );
    const rows = [
      row(COLD, cold!),
      row(AGAIN, again!),
      row(SEARCH_16, small!),
      row(SEARCH_32, large!),
      row(MEMORY, memory!),
    ];
    const text = [
      "| what | then, best | now, best | now / then, median of pairs | of the best | asked for | as a ratio |",
      "|---|--:|--:|--:|--:|--:|--:|",
      ...rows,
    ].join("\n");
    console.log(text);
    writeFileSync(PAGE, replaceBlock(readFileSync(PAGE, "utf8"), "beside", text));
  } finally {
    for (const probe of probes) probe.end();
    rmSync(tree, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
