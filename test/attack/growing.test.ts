/** Files that are small and stand for something that is not: each has an answer, which is no longer than a file can say. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { parseDocument } from "../../src/syntax/dispatch";
import type { LocatedNode } from "../../src/syntax/tree";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { DOUBLING } from "./growing";
import { faultsOf } from "./judge";

/** Parts and characters that whoever goes through a parsed document may meet. */
const MOST = 1_000_000;

function weight(node: LocatedNode, room: number): number {
  if (node.kind === "scalar") return 1 + (typeof node.value === "string" ? node.value.length >> 4 : 0);
  const inside =
    node.kind === "list"
      ? node.items
      : node.kind === "map"
        ? node.entries.map(({ value }) => value)
        : (node.alternatives ?? []);
  let sum = 1;
  for (const one of inside) {
    if (sum > room) return sum;
    sum += weight(one, room - sum);
  }
  return sum;
}

describe("files that grow", () => {
  for (const [name, { main, files }] of Object.entries(DOUBLING))
    it(`${name}: no more than a file can say`, async () => {
      const { root, shell } = parseDocument(uri(main), "", files[main] ?? "");
      assert.ok(root === null || weight(root, MOST) <= MOST, "the document");
      const words = (shell?.commands ?? []).flatMap((one) => one.words);
      assert.ok(words.reduce((sum, { text }) => sum + text.length, 0) <= MOST * 4, "the words of its commands");
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: "RTX 4090" });
      assert.deepEqual(faultsOf(analysis), []);
    });
});
