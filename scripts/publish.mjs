/**
 * Publishes what `npm run package` and `npm pack` make: the VSIX to the Visual Studio Marketplace and to Open VSX, the command line
 * and the library to npm. Each place has its token in the environment; one without a token is left out and said.
 *
 * usage: npm run release [-- --dry-run]
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./process.mjs";

const dry = process.argv.includes("--dry-run");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const vsix = join(root, "dist", `vram-lens-${version}.vsix`);

/** Where it goes: the variable of its token, and the command; the tools are not the project's own dependencies. */
const PLACES = [
  ["Visual Studio Marketplace", "VSCE_PAT", ["npx", "--yes", "@vscode/vsce@3", "publish", "--packagePath", vsix]],
  ["Open VSX", "OVSX_PAT", ["npx", "--yes", "ovsx", "publish", vsix]],
  ["npm", "NODE_AUTH_TOKEN", ["npm", "publish", "--access", "public"]],
];

async function must(command, args) {
  const { status } = await run(command, args, { cwd: root });
  if (status !== 0) process.exit(status);
}

const told = PLACES.map(([name, token, [command, ...args]]) => {
  const left = process.env[token] === undefined;
  const what = dry
    ? `would run ${[command, ...args].join(" ")}`
    : left
      ? `left out, as ${token} is not set`
      : "is published to";
  console.log(`${name}: ${what}`);
  return dry || left ? undefined : [command, args];
});
console.log(`Packing ${vsix}: every file is compressed as far as it goes, which takes a minute or two.`);
await must(process.execPath, [join("scripts", "package.mjs"), "--out", vsix]);
for (const place of told) if (place !== undefined) await must(...place);
