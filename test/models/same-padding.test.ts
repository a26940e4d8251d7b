/**
 * Networks that pad as TensorFlow does (`tf_` of timm): what stands before a side is half of what it needs, rounded down
 * (timm/layers/padding.py, `pad_same`), whatever the batch.
 */
import { strict as assert } from "node:assert";
import { Expressions } from "../../src/core/graph/expression";
import { graphsOf } from "../core/receipts/case";

/** Expressions of what the graphs pad with, before and behind a side. */
function padsOf(value: unknown): readonly (readonly [unknown, unknown])[] {
  if (typeof value !== "object" || value === null) return [];
  if ("op" in value && value.op === "pad" && "in" in value && Array.isArray(value.in)) {
    const [before, behind] = value.in[1] as readonly unknown[];
    return [[before, behind]];
  }
  return Object.values(value).flatMap(padsOf);
}

describe("models: padding to the same size", () => {
  const pads = padsOf(graphsOf("timm.efficientnet").graphs);
  const expressions = new Expressions();
  const at = (side: unknown, B: number, I: number): number =>
    typeof side === "string"
      ? Number(expressions.evaluate(side.slice(1), (name) => ({ B, I })[name] ?? null))
      : Number(side);

  it("is that of the side alone, and even but for one", () => {
    assert.ok(pads.length > 4);
    for (const [before, behind] of pads)
      for (let side = 97; side < 300; side++) {
        const [left, right] = [at(before, 3, side), at(behind, 3, side)];
        assert.equal(at(before, 64, side), left, `${String(before)} at ${side}`);
        assert.ok(
          left >= 0 && (right === left || right === left + 1),
          `${String(before)} at ${side}: ${left}, ${right}`,
        );
      }
  });
});
