/** `vram-lens receipts PATH...`: what was measured of a config, or what another tool's file says. */
import { dirname, resolve } from "node:path";
import { exact, type Locale, localeOf, t } from "../../analysis/messages";
import type { Runtime } from "../../analysis/runtime";
import { exported } from "../../evidence/receipts/export";
import { type Measured, readOthers } from "../../evidence/receipts/others";
import { readReceipt } from "../../evidence/receipts/read";
import type { Receipt } from "../../evidence/receipts/schema";
import { uriOf } from "../../host/node";
import { RECEIPTS_FOLDER } from "../../terms/names";
import { allPrintable } from "../../words/printable";
import type { Request } from "../arguments";
import type { Io } from "../io";
import { languageOf } from "./language";

/** Folders above a path that are looked at. */
const MOST_ABOVE = 8;

interface Listed {
  readonly receipts: readonly { readonly path: string; readonly receipt: Receipt }[];
  readonly others: readonly { readonly path: string; readonly measured: Measured }[];
  readonly problems: readonly string[];
}

const NOTHING: Listed = { receipts: [], others: [], problems: [] };

async function ofFile(path: string, runtime: Runtime, locale: Locale): Promise<Listed> {
  const text = await runtime.files.readText(uriOf(path));
  if (text === undefined) return NOTHING;
  const read = readReceipt(text);
  if (read.ok) return { ...NOTHING, receipts: [{ path, receipt: read.receipt }] };
  const measured = readOthers(text);
  if (measured !== null) return { ...NOTHING, others: [{ path, measured }] };
  return {
    ...NOTHING,
    problems: [t(locale, "receipt.broken", { file: path, field: read.field, problem: read.problem })],
  };
}

async function ofFolder(folder: string, runtime: Runtime, locale: Locale): Promise<Listed> {
  const place = resolve(folder, RECEIPTS_FOLDER);
  const names = (await runtime.files.list(uriOf(place)))
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".json"));
  const found = await Promise.all(names.sort().map((name) => ofFile(resolve(place, name), runtime, locale)));
  return joined(found);
}

function joined(all: readonly Listed[]): Listed {
  return {
    receipts: all.flatMap(({ receipts }) => receipts),
    others: all.flatMap(({ others }) => others),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/** A folder's receipts, or those above it; a file's own where it is evidence itself, else those of its folder. */
async function listed(path: string, shown: string, runtime: Runtime, locale: Locale): Promise<Listed> {
  const stat = await runtime.files.stat(uriOf(path));
  if (stat === undefined) return { ...NOTHING, problems: [t(locale, "input.missing", { path: shown })] };
  if (stat.type === "file") {
    const own = await ofFile(path, runtime, locale);
    if (own.receipts.length + own.others.length > 0) return own;
  }
  let folder = stat.type === "file" ? dirname(path) : path;
  for (let level = 0; level < MOST_ABOVE; level++) {
    const found = await ofFolder(folder, runtime, locale);
    if (found.receipts.length + found.problems.length > 0) return found;
    if (dirname(folder) === folder) break;
    folder = dirname(folder);
  }
  return { ...NOTHING, problems: [t(locale, "receipt.none", { folder: shown })] };
}

function receiptText({ when, card, run, peak, world, versions, outcome }: Receipt): string {
  const documents = run.documents.map(({ path }) => path).join(", ");
  const used = peak.usedBytes == null ? "" : `   used ${exact(peak.usedBytes)}`;
  const sizes = `allocated ${exact(peak.allocatedBytes)}   reserved ${exact(peak.reservedBytes)}${used}`;
  const rank = world.size > 1 ? `   rank ${world.rank}/${world.size}` : "";
  const torch = versions["torch"] === undefined ? "" : `   torch ${versions["torch"]}`;
  return `${when}   ${documents}   ${card.name}${rank}${torch}   ${outcome ?? ""}\n  ${sizes}`;
}

function otherText({ tool, allocatedBytes, usedBytes, card }: Measured, locale: Locale): string {
  const said = t(locale, "receipt.other", { tool, size: exact(allocatedBytes ?? usedBytes ?? 0) });
  return card === null ? said : `${said}   ${card}`;
}

/** @returns exit status: 0 something is listed, 2 nothing could be read */
export async function receiptsCommand(request: Request, runtime: Runtime, io: Io): Promise<number> {
  const locale = localeOf(languageOf(request, io));
  const found = joined(
    await Promise.all(request.paths.map((path) => listed(resolve(io.cwd, path), path, runtime, locale))),
  );
  const { receipts, others, problems } = allPrintable(found);
  for (const problem of problems) io.stderr(`vram-lens: ${problem}\n`);
  if (request.exports || request.format === "json") {
    const shown = receipts.map(({ receipt }) => (request.exports ? exported(receipt) : receipt));
    io.stdout(
      `${JSON.stringify({ schema: "vram-lens/receipts/1", receipts: shown, others: others.map(({ measured }) => measured) }, null, 2)}\n`,
    );
  } else {
    const lines = [
      ...receipts.map(({ receipt }) => receiptText(receipt)),
      ...others.map(({ measured }) => otherText(measured, locale)),
    ];
    if (lines.length > 0) io.stdout(`${lines.join("\n")}\n`);
  }
  return receipts.length + others.length === 0 ? 2 : 0;
}
