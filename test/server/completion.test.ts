/** Completions as the protocol wants them. */
import { strict as assert } from "node:assert";
import { CompletionItemKind, MarkupKind } from "vscode-languageserver";
import { toCompletionItems } from "../../src/server/completion";

const RANGE = { start: { line: 1, character: 0 }, end: { line: 1, character: 3 } };

describe("server: completion items", () => {
  it("keep the range, the quotes and the effect", () => {
    const [key, value] = toCompletionItems(
      [
        {
          kind: "key",
          label: "stage",
          insertText: '"stage": ',
          detail: "changes GPU memory",
          documentation: "ZeRO",
          range: RANGE,
          sortText: "0stage",
        },
        {
          kind: "value",
          label: "2",
          insertText: "2",
          detail: "",
          documentation: "ZeRO",
          range: RANGE,
          sortText: "002",
        },
      ],
      true,
    );
    assert.deepEqual(key?.textEdit, { range: RANGE, newText: '"stage": ' });
    assert.equal(key?.filterText, '"stage"');
    assert.equal(key?.kind, CompletionItemKind.Property);
    assert.deepEqual(key?.documentation, { kind: MarkupKind.Markdown, value: "ZeRO" });
    assert.equal(value?.detail, undefined);
    assert.equal(value?.kind, CompletionItemKind.Value);
  });
});
