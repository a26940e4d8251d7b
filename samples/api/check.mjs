// Fails when a config does not fit: node check.mjs train.yaml "RTX 4090"
import { check } from "vram-lens";

const [path = "train.yaml", device] = process.argv.slice(2);
const report = await check(path, device === undefined ? {} : { device });
for (const { id, statement } of report.runs) console.log(`${id}: ${statement.verdict} · ${statement.detail}`);
process.exitCode = report.runs.some(({ verdict }) => verdict === "does-not-fit") ? 1 : 0;
