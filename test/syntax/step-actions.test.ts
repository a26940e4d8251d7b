/** What a step does behind its first backward; exact peaks: `test/analysis/scripts/steps.jsonl`. */
import assert from "node:assert/strict";
import { parsePython } from "../../src/syntax/python";

/** A loop that goes through a batch twice, with lines between its two backwards. */
function further(between: string) {
  const text = `for batch in loader:
    loss = model(**batch).loss
    loss.backward()
${between}
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`;
  return parsePython(text).python?.round?.further;
}

const rounds = (terms: number): string => `    for i in range(32):
        for j in range(32):
            x = note(${Array.from({ length: terms }, () => "g(a)").join(", ")})`;

describe("syntax: further passes of a step", () => {
  it("are read, with what stands in loops between them", () => {
    assert.deepEqual(further("    x = 1"), [{ do: "pass" }]);
    assert.deepEqual(further(rounds(2)), [{ do: "pass" }]);
  });

  it("are not followed where that is more work than a file is worth", () => {
    assert.equal(further(rounds(2000)), undefined);
    assert.equal(further(`    for i in range(${2 ** 31}):\n        x = 1`), undefined);
  });
});
