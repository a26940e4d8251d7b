/** Receipts from text. Never throws. */

import { en } from "zod/locales";
import { jsonOf } from "../../terms/json";
import { type Receipt, receiptSchema } from "./schema";

/** A receipt, or the first thing that is wrong with it: the path of a field and what is expected there. */
export type ReceiptRead =
  | { readonly ok: true; readonly receipt: Receipt }
  | { readonly ok: false; readonly field: string; readonly problem: string };

/** Reads `.vramlens/receipts/*.json`. Fields of later versions are left out. */
export function readReceipt(text: string): ReceiptRead {
  const value = jsonOf(text);
  if (value === undefined) return { ok: false, field: "", problem: "not JSON" };
  const read = receiptSchema.safeParse(value, { error: en().localeError });
  if (read.success) return { ok: true, receipt: read.data };
  const issue = read.error.issues[0];
  return { ok: false, field: issue?.path.join(".") ?? "", problem: issue?.message ?? "" };
}
