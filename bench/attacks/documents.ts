/** Documents that say something hostile: names, texts and numbers in every place of every format, and models' configs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../../test/analysis/memory-runtime";
import { faultsOfEdits, SPELLINGS } from "../../test/attack/edits";
import { broken, HOSTILE } from "../../test/attack/evidence";
import { ALL_SEEDS } from "../../test/attack/format-seeds";
import { DOUBLING, MEETING } from "../../test/attack/growing";
import { faultsOf } from "../../test/attack/judge";
import { modelNumbers } from "../../test/attack/model-numbers";
import { NAMES, replaced, scalarsOf } from "../../test/attack/mutations";
import { numbersIn } from "../../test/attack/numbers";
import { OPENING } from "../../test/attack/opening";
import { OVERFULL } from "../../test/attack/readers";
import type { Seed } from "../../test/attack/seeds";
import { ACTING, faultsShown } from "../../test/attack/shown";
import { corpusEntries } from "../../test/corpus";
import { type Campaign, Tally, turns } from "./campaign";

/** Texts that do something where they are shown, or to what reads them. */
const TEXTS = [...HOSTILE, "(a+)+$", "../".repeat(2000), "/dev/zero", "//host/x"];

type Files = Seed["files"];

/** One analyzer for all that becomes of some files, as an editor has it: gives the faults of the answer about the first. */
function session({
  main,
  files,
}: Pick<Seed, "main" | "files">): (changed: Files, value: string) => Promise<readonly string[]> {
  const runtime = memoryRuntime(files);
  const analyzer = createAnalyzer(runtime);
  let last = files;
  return async (changed, value) => {
    for (const path of new Set([...Object.keys(last), ...Object.keys(changed)])) {
      if (last[path] === changed[path]) continue;
      runtime.write(path, changed[path]);
      analyzer.invalidate(uri(path));
    }
    last = changed;
    return faultsOf(await analyzer.analyse(uri(main), { device: "RTX 4090" }), value);
  };
}

function answered(seed: Pick<Seed, "main" | "files">, value: string): Promise<readonly string[]> {
  return session(seed)(seed.files, value);
}

/** Names that every object has, and hostile texts, in every text and every key. */
export const texts: Campaign = async (every, from) => {
  const tally = new Tally();
  const isTurn = turns(every, from);
  for (const [name, seed] of Object.entries(ALL_SEEDS)) {
    const { files } = seed;
    const ask = session(seed);
    for (const [path, text] of Object.entries(files)) {
      const isQuoted = /\.(?:json|py)$/.test(path);
      for (const scalar of scalarsOf(uri(path), text)) {
        const keys = scalar.key === undefined ? [] : NAMES.map((value) => [scalar.key, value] as const);
        const values = scalar.kind === "text" ? [...NAMES, ...TEXTS].map((value) => [scalar, value] as const) : [];
        for (const [span, value] of [...keys, ...values]) {
          if (span === undefined || !isTurn()) continue;
          const written = isQuoted || span === scalar ? JSON.stringify(value) : value;
          const changed = { ...files, [path]: replaced(text, span, written) };
          await tally.of(`${name} ${path}${scalar.path} = ${value}`, () => ask(changed, value));
        }
      }
    }
  }
  return tally.outcome(`${tally.tried} texts and keys of ${Object.keys(ALL_SEEDS).length} runs replaced`);
};

/** A file with one of its texts replaced, in quotes where it needs them. */
function* withText(
  path: string,
  text: string,
  isTurn: () => boolean,
): Generator<readonly [value: string, text: string]> {
  for (const scalar of scalarsOf(uri(path), text))
    for (const span of [scalar, scalar.key])
      for (const value of ACTING) {
        if (span === undefined || (span === scalar && scalar.kind !== "text") || !isTurn()) continue;
        yield [value, replaced(text, span, JSON.stringify(value))];
      }
}

/** Texts that act on whoever is shown them, in every text and key, through every place that shows one. */
export const shown: Campaign = async (every, from) => {
  const tally = new Tally();
  const isTurn = turns(every, from);
  for (const [name, { main, files }] of Object.entries(ALL_SEEDS))
    for (const [path, text] of Object.entries(files))
      for (const [value, changed] of withText(path, text, isTurn))
        await tally.of(`${name} ${path} with ${value}`, () =>
          faultsShown({ main, files: { ...files, [path]: changed } }, value),
        );
  return tally.outcome(
    `${tally.tried} texts and keys of ${Object.keys(ALL_SEEDS).length} runs, shown in two languages`,
  );
};

/** A number in every numeric key of every format. */
export const numbers: Campaign = async (every, from) => {
  const tally = new Tally();
  const isTurn = turns(every, from);
  for (const [name, seed] of Object.entries(ALL_SEEDS)) {
    const ask = session(seed);
    for (const { what, value, files } of numbersIn(seed, isTurn))
      await tally.of(`${name} ${what}`, () => ask(files, value === ".nan" ? "NaN" : value));
  }
  return tally.outcome(`${tally.tried} numbers in keys of every format`);
};

/** A value in every number of every family's config. */
export const models: Campaign = async (every, from) => {
  const tally = new Tally();
  for (const { what, value, ...seed } of modelNumbers(turns(every, from)))
    await tally.of(what, () => answered(seed, value));
  return tally.outcome(`${tally.tried} values in numbers of models' configs`);
};

/** A traced graph of somebody's own, broken: runs of it have an answer. */
export const ownGraphs: Campaign = async (every, from) => {
  const tally = new Tally();
  const own = join(__dirname, "../../test/analysis/own");
  const graph = new Uint8Array(readFileSync(join(own, ".vramlens/graphs/Reader.json")));
  const script =
    "from model import Reader\nimport torch\nbatch_size = 2\nblock_size = 16\nmodel = Reader().to('cuda')\noptimizer = torch.optim.AdamW(model.parameters())\nfor x, y in batches:\n    optimizer.zero_grad()\n    logits, loss = model(x, y)\n    loss.backward()\n    optimizer.step()\n";
  const isTurn = turns(every, from);
  for (let seed = 1; seed <= 4000; seed++) {
    if (!isTurn()) continue;
    const files = {
      "train.py": script,
      "model.py": readFileSync(join(own, "model.py"), "utf8"),
      ".vramlens/graphs/Reader.json": new TextDecoder().decode(broken(graph, seed)),
    };
    await tally.of(`broken graph ${seed}`, () => answered({ main: "train.py", files }, ""));
  }
  return tally.outcome(`runs of ${tally.tried} broken graphs`);
};

/** Broken texts that each real config is tried as. */
const BROKEN_EACH = 8;

/** Real configs cut short, with bytes changed, with parts twice, with something hostile in the place of a value. */
export const mutations: Campaign = async (every, from) => {
  const tally = new Tally();
  const isTurn = turns(every, from);
  for (const { file, text } of corpusEntries())
    for (let seed = 1; seed <= BROKEN_EACH; seed++) {
      if (!isTurn()) continue;
      const main = file.split("/").at(-1) ?? file;
      const changed = new TextDecoder().decode(broken(new TextEncoder().encode(text), seed));
      const files = { [main]: changed };
      await tally.of(`${file}, broken ${seed}`, async () => [
        ...(await answered({ main, files }, "")),
        ...(await faultsOfEdits(files, main, "8GiB")).faults,
      ]);
    }
  return tally.outcome(
    tally.tried === 0 ? "no corpus beside the project: no broken configs" : `${tally.tried} real configs, broken`,
  );
};

/** Plans, stages and fixes for real configs as other systems write them. */
export const edits: Campaign = async (every, from) => {
  const tally = new Tally();
  let offered = 0;
  const isTurn = turns(every, from);
  const entries = corpusEntries();
  for (const { file, text } of entries)
    for (const [how, spell] of Object.entries(SPELLINGS)) {
      if (!isTurn()) continue;
      const main = file.split("/").at(-1) ?? file;
      const files = {
        [main]: spell(text, main),
        ".vramlens.yaml": `runs:\n  - match: "${main}"\n    model: meta-llama/Llama-3.2-1B\n    task: causal-lm\n    sequence_length: 512\n`,
      };
      await tally.of(`${file}, ${how}`, async () => {
        const { tried, faults } = await faultsOfEdits(files, main, "8GiB");
        offered += tried;
        return faults;
      });
    }
  return tally.outcome(
    entries.length === 0
      ? "no corpus beside the project: no edits"
      : `${offered} edits offered in ${tally.tried} real configs`,
  );
};

/** Small files that stand for something that is not: all of them, since each is another way to grow. */
export const growing: Campaign = async () => {
  const tally = new Tally();
  for (const [name, seed] of Object.entries({ ...DOUBLING, ...MEETING, ...OPENING, ...OVERFULL }))
    await tally.of(name, () => answered(seed, ""));
  return tally.outcome(`${tally.tried} files that double or multiply what they say`);
};
