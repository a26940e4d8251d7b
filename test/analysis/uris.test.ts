/** URIs have one spelling, and those that have it already are not taken apart: thousands of files may change at once. */
import { strict as assert } from "node:assert";
import { URI, Utils } from "vscode-uri";
import { normalise, parentOf } from "../../src/analysis/documents/uris";

/** How many URIs are taken apart meanwhile. */
function parsed(body: () => void): number {
  const { parse } = URI;
  let count = 0;
  URI.parse = (...given) => {
    count++;
    return parse.apply(URI, given);
  };
  try {
    body();
  } finally {
    URI.parse = parse;
  }
  return count;
}

describe("uris", () => {
  it("are spelled as vscode-uri prints them, plain ones without taking them apart", () => {
    const plain = ["file:///a", "file:///a/b.yaml", "file:///w/_x-1~/..", "file:///w/.vramlens.yaml"];
    const others = [
      "file:///C:/a",
      "file:///c%3A/a",
      "file:///a%20b/ü",
      "file:///a/",
      "file:///a//b",
      "FILE:///a",
      "a",
    ];
    for (const uri of [...plain, ...others, "file:///a?b/c", "file:///a#b/c", "untitled:x/y", "file://host/share/a"]) {
      assert.equal(normalise(uri), URI.parse(uri).toString(), uri);
      assert.equal(parentOf(uri), Utils.dirname(URI.parse(uri)).toString(), uri);
    }
    const asked = (uris: readonly string[]) => () => uris.forEach((uri) => void [normalise(uri), parentOf(uri)]);
    assert.equal(parsed(asked(plain)), 0);
    assert.ok(parsed(asked(others)) > 0);
  });
});
