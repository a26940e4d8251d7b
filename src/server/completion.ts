/** Completions of the analysis as the protocol's items: a place-preserving edit, the memory effect as the detail. */
import { type CompletionItem, CompletionItemKind, MarkupKind } from "vscode-languageserver";
import type { CompletionContent } from "../analysis/analyzer";

/** Characters after which the client asks by itself: a value or a quoted key begins. */
export const COMPLETION_TRIGGERS: readonly string[] = [" ", '"', "="];

export function toCompletionItems(found: readonly CompletionContent[], markdown: boolean): CompletionItem[] {
  return found.map((item) => ({
    label: item.label,
    kind: item.kind === "key" ? CompletionItemKind.Property : CompletionItemKind.Value,
    ...(item.detail === "" ? {} : { labelDetails: { description: item.detail }, detail: item.detail }),
    documentation: { kind: markdown ? MarkupKind.Markdown : MarkupKind.PlainText, value: item.documentation },
    textEdit: { range: item.range, newText: item.insertText },
    filterText: item.insertText.startsWith('"') ? `"${item.label}"` : item.label,
    sortText: item.sortText,
  }));
}
