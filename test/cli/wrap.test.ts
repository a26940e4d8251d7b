/** Reports in a terminal's width: figures stay whole, words are not cut, and nothing is lost. */
import { strict as assert } from "node:assert";
import { wrapped } from "../../src/cli/wrap";

const flat = (text: string): string => text.replace(/\s+/g, "");

describe("cli width", () => {
  const PARTS = "  weights 2.3  optimizer 4.6  logits and loss 11.7  allocator cache 1.5  context and libraries 0.5";

  it("breaks a line of figures between them", () => {
    assert.equal(
      wrapped(PARTS, 60),
      "  weights 2.3  optimizer 4.6  logits and loss 11.7\n    allocator cache 1.5  context and libraries 0.5",
    );
  });

  it("breaks a sentence between words, a number and its unit stay together", () => {
    assert.equal(
      wrapped("  assumes pool 237.6 GiB, with it 184.4 GiB", 22),
      "  assumes pool\n    237.6 GiB, with it\n    184.4 GiB",
    );
  });

  it("leaves what is short, and everything where no width is known", () => {
    assert.equal(wrapped(PARTS, 200), PARTS);
    assert.equal(wrapped(PARTS, undefined), PARTS);
  });

  it("counts Chinese as two columns, breaks it anywhere but before a mark", () => {
    const text = "  信息 仅权重就占用 169.7 GiB（可用 23.5 GiB）：调整批大小无济于事，请分片、量化或换用更大的显存。";
    const lines = wrapped(text, 40).split("\n");
    assert.ok(lines.length > 2);
    for (const line of lines) {
      assert.ok(line.replace(/[\u3000-\u9fff\uff01-\uff60]/g, "xx").length <= 40, line);
      assert.doesNotMatch(line.trim(), /^[，。：、）]/);
    }
    assert.equal(flat(lines.join("")), flat(text));
  });

  it("counts no colours", () => {
    const line = "  \u001b[31mdoes not fit\u001b[0m   34.0 GiB";
    assert.equal(wrapped(line, 26), line);
  });

  it("keeps a word that is longer than a line", () => {
    const path = "a/".repeat(60);
    assert.equal(flat(wrapped(`  ${path} warning`, 40)), `${path}warning`);
  });
});
