import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { graphsOf } from "../core/receipts/case";

const FOLDER = path.resolve(__dirname, "../../models/graphs");

describe("graphs of models that are given tokens", () => {
  it("mark what embeds them (`python -m capture graphs --embedders`)", () => {
    const families = readdirSync(FOLDER).map((file) => path.basename(file, ".json"));
    // Code of other libraries is never told to make its inputs require grad.
    const unmarked = families.filter(
      (family) =>
        "transformers" in graphsOf(family).captured &&
        !("diffusers" in graphsOf(family).captured) &&
        graphsOf(family).graphs.some(
          ({ main }) =>
            main.inputs.includes("input_ids") && !main.body.some((instruction) => "inputgrad" in instruction),
        ),
    );
    assert.deepEqual(unmarked, []);
  });
});
