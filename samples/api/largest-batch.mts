// The largest micro-batch that fits each card: npx tsx largest-batch.mts train.yaml
import { check, type ReportRun } from "vram-lens";

const fits = (run: ReportRun | undefined): boolean => run !== undefined && run.verdict !== "does-not-fit";

for (const device of ["RTX 4090", "A100-80GB", "H100"]) {
  let largest = 0;
  for (let batch = 1; batch <= 256; batch *= 2) {
    const { runs } = await check(process.argv[2] ?? "train.yaml", { device, set: { micro_batch_size: batch } });
    if (!fits(runs[0])) break;
    largest = batch;
  }
  console.log(`${device}: ${largest}`);
}
