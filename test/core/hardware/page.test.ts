import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { devicesPage } from "../../../src/core/hardware/table";

describe("docs/devices.md", () => {
  it("is what the catalogue gives (UPDATE_DOCS=1 rewrites it)", () => {
    const path = join(__dirname, "../../../docs/devices.md");
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, devicesPage());
    assert.equal(readFileSync(path, "utf8"), devicesPage());
  });
});
