/**
 * Runs the benchmarks as one bundle, the way the package ships the code: loading sources one by one, with their names
 * kept, would be measured otherwise.
 *
 * usage: node scripts/bench.mjs [PROGRAM] [ARGUMENTS]
 * PROGRAM: a file of bench/ without its ending; default: run
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const given = process.argv.slice(2);
const program = /^[a-z]+$/.test(given[0] ?? "") ? given.shift() : "run";
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outfile = join(root, "dist", `bench-${program}.cjs`);

/** Files that look beside themselves still do so. */
const places = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      return { loader: "ts", contents: text.replaceAll("__dirname", JSON.stringify(dirname(path))) };
    });
  },
};

await build({
  absWorkingDir: root,
  entryPoints: [`bench/${program}.ts`],
  outfile,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  packages: "external",
  logLevel: "warning",
  plugins: [places],
});
process.exit(spawnSync(process.execPath, [outfile, ...given], { stdio: "inherit" }).status ?? 1);
