/**
 * Builds the VSIX from what .vscodeignore allows, and prints its contents and size.
 *
 * A VSIX is an OPC package: a zip with a manifest and a list of content types beside the extension's own files.
 *
 * usage: npm run package [-- --out FILE] [-- --no-build]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import zopfli from "@gfx/zopfli";
import { Zip, ZipPassThrough } from "fflate";
import { packagedContent, packagedFiles } from "./packaged.mjs";
import { root, run } from "./process.mjs";

/** A larger package has swallowed something that it should not have; bytes. */
const LARGEST = 1.5e6;
/** Rounds of the search for shorter code: more save some hundred bytes. */
const ROUNDS = 5;
/** A fixed time makes the same content the same package. */
const TIME = new Date("2000-01-01T00:00:00");

/** Content types of the files an extension has; OPC wants one for every extension of a name. */
const CONTENT_TYPES = {
  ".css": "text/css",
  ".js": "application/javascript",
  ".json": "application/json",
  ".md": "text/markdown",
  ".png": "image/png",
  ".py": "text/x-python",
  ".txt": "text/plain",
  ".vsixmanifest": "text/xml",
  ".xz": "application/x-xz",
};

function escapeXml(text) {
  return String(text).replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** A text of the manifest, with `%key%` replaced from package.nls.json. */
function localised(text) {
  const key = /^%(.+)%$/.exec(text)?.[1];
  return key === undefined ? text : (JSON.parse(readFileSync(join(root, "package.nls.json"), "utf8"))[key] ?? text);
}

function manifestXml(manifest, files) {
  const asset = (type, path) =>
    files.includes(path) ? `    <Asset Type="${type}" Path="extension/${path}" Addressable="true" />\n` : "";
  const property = (id, value) =>
    value === undefined || value === "" ? "" : `      <Property Id="${id}" Value="${escapeXml(value)}" />\n`;
  const properties = [
    property("Microsoft.VisualStudio.Code.Engine", manifest.engines.vscode),
    property("Microsoft.VisualStudio.Code.ExtensionKind", manifest.extensionKind?.join(",")),
    property("Microsoft.VisualStudio.Code.LocalizedLanguages", files.includes("package.nls.zh-cn.json") ? "zh-cn" : ""),
    property("Microsoft.VisualStudio.Services.Links.Source", manifest.repository?.url),
    property("Microsoft.VisualStudio.Services.Links.GitHub", manifest.repository?.url),
    property("Microsoft.VisualStudio.Services.Links.Support", manifest.bugs?.url),
    property("Microsoft.VisualStudio.Services.Links.Learn", manifest.homepage),
    property("Microsoft.VisualStudio.Services.Content.Pricing", manifest.pricing ?? "Free"),
    property("Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown", "true"),
  ].join("");
  const icon = manifest.icon !== undefined && files.includes(manifest.icon);
  const assets = [
    asset("Microsoft.VisualStudio.Code.Manifest", "package.json"),
    asset("Microsoft.VisualStudio.Services.Content.Details", "README.md"),
    asset("Microsoft.VisualStudio.Services.Content.Changelog", "CHANGELOG.md"),
    asset("Microsoft.VisualStudio.Services.Content.License", "LICENSE"),
    icon ? asset("Microsoft.VisualStudio.Services.Icons.Default", manifest.icon) : "",
  ].join("");
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id="${escapeXml(manifest.name)}" Version="${escapeXml(manifest.version)}" Publisher="${escapeXml(manifest.publisher)}" />
    <DisplayName>${escapeXml(localised(manifest.displayName))}</DisplayName>
    <Description xml:space="preserve">${escapeXml(localised(manifest.description))}</Description>
    <Tags>${escapeXml((manifest.keywords ?? []).join(","))}</Tags>
    <Categories>${escapeXml((manifest.categories ?? ["Other"]).join(","))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
${properties}    </Properties>
    <License>extension/LICENSE</License>
${icon ? `    <Icon>extension/${escapeXml(manifest.icon)}</Icon>\n` : ""}  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
${assets}  </Assets>
</PackageManifest>
`;
}

function contentTypesXml(files) {
  const extensions = new Set([...files.map((path) => extname(path)).filter((name) => name !== ""), ".vsixmanifest"]);
  const defaults = [...extensions]
    .sort()
    .map(
      (name) =>
        `  <Default Extension="${name}" ContentType="${CONTENT_TYPES[name] ?? "application/octet-stream"}" />\n`,
    );
  const overrides = files
    .filter((path) => extname(path) === "")
    .map((path) => `  <Override PartName="/extension/${escapeXml(path)}" ContentType="text/plain" />\n`);
  return `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
${defaults.join("")}${overrides.join("")}</Types>
`;
}

/** A file of the zip, deflated as short as it can be; kept as it is where that is shorter. */
async function entry(path, bytes) {
  const deflated = await zopfli.deflateAsync(bytes, { numiterations: ROUNDS });
  const file = new ZipPassThrough(path);
  file.mtime = TIME;
  if (deflated.length < bytes.length) {
    file.compression = 8;
    // What a zip says of an entry's content is counted before this.
    file.process = (_, isLast) => file.ondata(null, deflated, isLast);
  }
  return { path, bytes, file, length: Math.min(deflated.length, bytes.length) };
}

/** The bytes of a zip of entries. */
function zipped(entries) {
  const parts = [];
  const zip = new Zip((error, part) => {
    if (error !== null) throw error;
    parts.push(part);
  });
  for (const { file, bytes } of entries) {
    zip.add(file);
    file.push(bytes, true);
  }
  zip.end();
  return Buffer.concat(parts);
}

if (!process.argv.includes("--no-build")) {
  const { status } = await run(process.execPath, [join("scripts", "build.mjs")]);
  if (status !== 0) process.exit(status);
}
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const files = packagedFiles();
const missing = [
  manifest.main,
  manifest.browser,
  manifest.icon,
  "dist/models.xz",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
]
  .filter((path) => path !== undefined)
  .map((path) => path.replace(/^\.\//, ""))
  .filter((path) => !files.includes(path) && !files.includes(`${path}.js`));
if (missing.length > 0) {
  console.error(`not packaged but needed: ${missing.join(", ")}`);
  process.exit(1);
}
const encode = (text) => new TextEncoder().encode(text);
const entries = await Promise.all(
  [
    ["extension.vsixmanifest", encode(manifestXml(manifest, files))],
    ["[Content_Types].xml", encode(contentTypesXml(files))],
    ...files.map((path) => [`extension/${path}`, packagedContent(path)]),
  ].map(([path, bytes]) => entry(path, bytes)),
);
const bytes = zipped(entries);
const at = process.argv.indexOf("--out");
const out = at < 0 ? `${manifest.name}-${manifest.version}.vsix` : process.argv[at + 1];
writeFileSync(resolve(root, out), bytes);
for (const { path, length } of entries) console.log(`${(length / 1000).toFixed(1).padStart(9)} kB  ${path}`);
console.log(`${out}: ${files.length} files, ${(bytes.length / 1e6).toFixed(2)} MB`);
if (bytes.length > LARGEST) {
  console.error(`larger than ${LARGEST / 1e6} MB`);
  process.exit(1);
}
