/**
 * Writes docs/sbom.json: the packages whose code is in the bundles, with versions and licences (CycloneDX 1.6), as
 * esbuild finds them. Packages that only build and test are in package-lock.json.
 *
 * usage: npm run sbom
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./process.mjs";

/** Entries of scripts/build.mjs. */
const entryPoints = [
  "src/cli/main.ts",
  "src/mcp/main.ts",
  "src/server/main.ts",
  "src/server/apart/worker.ts",
  "src/extension/main.ts",
  "webview-ui/main.ts",
  "webview-ui/evidence/main.ts",
];

const { metafile } = await build({
  ...{ absWorkingDir: root, entryPoints, platform: "node", bundle: true, write: false, metafile: true },
  // Some run in both.
  conditions: ["node", "browser"],
  mainFields: ["module", "main"],
  external: ["vscode"],
  outdir: "dist",
  logLevel: "error",
});
const outputs = Object.values(metafile.outputs);
const used = outputs.flatMap(({ inputs }) =>
  Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]] : [],
  ),
);
const components = [...new Set(used.filter((folder) => folder !== undefined))].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { type: "library", name, version, purl, licenses: [{ license: { id: license } }] };
});
const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const bom = {
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: { component: { type: "application", name, version, licenses: [{ license: { id: license } }] } },
  components,
};
writeFileSync(join(root, "docs", "sbom.json"), `${JSON.stringify(bom, null, 2)}\n`);
for (const one of components) console.log(`${one.name} ${one.version}  ${one.licenses[0].license.id}`);
