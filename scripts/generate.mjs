/**
 * Writes every file that is made from the code: pages of findings and of formats, the schema of pins, and the pages and tables
 * that tests keep (`UPDATE_DOCS`). What needs Python or a measurement has commands of its own (CONTRIBUTING.md).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run, tool } from "./process.mjs";

const WRITERS = ["findings-pages.ts", "formats-page.ts", "pins-schema.ts", "receipt-schema.ts"];

/** Tests that compare a file with what the code makes of it, and write it where they are asked to. */
const keepers = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => join("test", file))
  .filter((file) => readFileSync(join(root, file), "utf8").includes('process.env["UPDATE_DOCS"]'));

const [node, mocha] = tool("mocha/bin/mocha.js");
const [, biome] = tool("@biomejs/biome/bin/biome");
const steps = [
  ...WRITERS.map((writer) => [["--require", "./scripts/typescript.cjs", join("scripts", writer)], {}]),
  [[biome, "format", "--write", "schemas", "package.json"], {}],
  [[mocha, ...keepers], { env: { ...process.env, UPDATE_DOCS: "1" } }],
];
for (const [args, options] of steps) {
  const { status } = await run(node, args, options);
  if (status !== 0) process.exit(status);
}
