/** Sentences of the client, in the editor's language. */
import * as vscode from "vscode";
import { type ClientWord, clientWords } from "../words/client";
import { localeOf } from "../words/locale";

/** @param values what fills `{0}`, `{1}` and so on */
export function t(id: ClientWord, ...values: readonly (string | number)[]): string {
  return clientWords(localeOf(vscode.env.language))(id, ...values);
}
