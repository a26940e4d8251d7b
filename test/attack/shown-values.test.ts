import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { faultsOf } from "./judge";
import { READERS } from "./readers";

describe("attacks: values that findings repeat", () => {
  it("are shown where they are no numbers of a program's", async () => {
    const { main, files } = READERS["diffusers' FLUX"]!;
    const digits = "9".repeat(400);
    const text = files[main]!.replace("--mixed_precision bf16", `--mixed_precision ${digits}`);
    const analysis = await createAnalyzer(memoryRuntime({ ...files, [main]: text })).analyse(uri(main), {
      device: "RTX 4090",
    });
    assert.deepEqual(faultsOf(analysis, digits), []);
  });
});
