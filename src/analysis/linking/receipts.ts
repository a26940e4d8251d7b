/** Receipts that lie beside a run, and what context and libraries took on its card by them. */
import { readReceipt } from "../../evidence/receipts/read";
import type { Receipt } from "../../evidence/receipts/schema";
import { RECEIPTS_FOLDER } from "../../terms/names";
import type { DocumentStore } from "../documents/store";
import { joinUri } from "../documents/uris";

/** A receipt and where it lies. */
export interface FoundReceipt {
  readonly uri: string;
  /** Whether a document that it names by its hash is another one now. */
  readonly changed: boolean;
  /** Folder that its paths are relative to. */
  readonly folder: string;
  readonly receipt: Receipt;
}

/** Receipts of one folder that are read, the newest: they are named after their time. */
const MOST_RECEIPTS = 64;

/** Receipts in the folders given, nearest first; every folder looked at is a dependency. */
export async function findReceipts(
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<readonly FoundReceipt[]> {
  const found: FoundReceipt[] = [];
  for (const folder of folders) {
    const place = joinUri(folder, RECEIPTS_FOLDER);
    dependencies.add(place);
    const names = (await store.list(place))
      .filter(({ name, type }) => type === "file" && name.endsWith(".json"))
      .map(({ name }) => name)
      .sort()
      .slice(-MOST_RECEIPTS);
    for (const name of names) {
      const uri = joinUri(place, name);
      dependencies.add(uri);
      const document = await store.load(uri);
      const read = document === undefined ? undefined : readReceipt(document.text);
      if (read?.ok !== true) continue;
      const { receipt } = read;
      found.push({ uri, folder, receipt, changed: await hasChanged(receipt, folder, store) });
    }
  }
  return found;
}

/** SHA-256 of a text in UTF-8, in hexadecimal; undefined where the platform has none. */
async function hashOf(text: string): Promise<string | undefined> {
  const digest = await globalThis.crypto?.subtle
    ?.digest("SHA-256", new TextEncoder().encode(text))
    .catch(() => undefined);
  return digest && [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Documents of a receipt whose hashes are compared. */
const MOST_HASHED = 8;

async function hasChanged({ run }: Receipt, folder: string, store: DocumentStore): Promise<boolean> {
  for (const { path, sha256 } of run.documents.slice(0, MOST_HASHED)) {
    if (sha256 === undefined) continue;
    const document = await store.load(joinUri(folder, path));
    const hash = document === undefined ? undefined : await hashOf(document.text);
    if (hash !== undefined && hash !== sha256.toLowerCase()) return true;
  }
  return false;
}

/** What context and libraries took, by the newest receipt of a card. Bytes. */
export interface MeasuredOverhead {
  readonly bytes: number;
  readonly when: string;
  readonly card: string;
}

/** Of cards that are called so, with as many ranks together or alone: NCCL's buffers count. */
export function overheadOn(
  receipts: readonly FoundReceipt[],
  isCard: (name: string) => boolean,
  worldSize: number,
): MeasuredOverhead | null {
  const [newest] = receipts
    .map(({ receipt }) => receipt)
    .filter(
      ({ card, world, overheadBytes }) =>
        overheadBytes != null && isCard(card.name) && world.size > 1 === worldSize > 1,
    )
    .sort((a, b) => Date.parse(b.when) - Date.parse(a.when));
  return newest?.overheadBytes == null
    ? null
    : { bytes: newest.overheadBytes, when: newest.when, card: newest.card.name };
}
