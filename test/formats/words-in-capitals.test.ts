/** Words in capitals that a key takes are its values; others are filled in by somebody. */
import { strict as assert } from "node:assert";
import { FORMATS } from "../../src/formats";
import type { KeySpec } from "../../src/formats/types";
import { readValue } from "../../src/formats/value";
import type { LocatedNode } from "../../src/syntax/tree";

const scalar = (value: string): LocatedNode => ({ kind: "scalar", value, raw: value, start: 0, end: value.length });

const SPEC: KeySpec = { key: "k", name: null, type: "string", effect: "fsdp", memory: true };

describe("formats: words in capitals", () => {
  it("takes what the key means for itself", () => {
    const means = { SHARD_GRAD_OP: "shard_grad_op" };
    assert.equal(readValue({ ...SPEC, means }, scalar("SHARD_GRAD_OP"), true).unknown, undefined);
    assert.equal(readValue({ ...SPEC, means }, scalar("MY_STRATEGY"), true).unknown, true);
    assert.equal(
      readValue({ ...SPEC, default: "BACKWARD_POST" }, scalar("BACKWARD_POST"), true).value,
      "BACKWARD_POST",
    );
  });

  it("knows FSDP's strategies and prefetches in every format", () => {
    for (const format of FORMATS)
      for (const spec of format.keys) {
        const words = { fsdp: "SHARD_GRAD_OP", fsdp_backward_prefetch: "BACKWARD_PRE" };
        const word = Object.entries(words).find(([name]) => name === spec.name)?.[1];
        // NeMo's own words are in small letters.
        if (word !== undefined && format.id !== "nemo" && spec.type !== "boolean" && spec.type !== "list")
          assert.notEqual(readValue(spec, scalar(word), true).unknown, true, `${format.id} ${spec.key}`);
      }
  });
});
