/** What events of the client's watcher mean. */
import { strict as assert } from "node:assert";
import { changedBy, WATCHED } from "../../src/server/watched";

describe("server: watched files", () => {
  it("takes a folder on the way to receipts for the receipts in it: no event comes for files made with their folder", () => {
    const receipts = "file:///w/.vramlens/receipts";
    for (const folder of ["file:///w/.vramlens", receipts]) {
      const places = changedBy(folder).map((uri) => uri.slice(0, uri.lastIndexOf("/")));
      assert.ok(places.includes(receipts), folder);
    }
    assert.deepEqual(changedBy("file:///w/train.yaml"), ["file:///w/train.yaml"]);
    assert.deepEqual(WATCHED.slice(1), ["**/.vramlens", "**/.vramlens/receipts"]);
  });
});
