/**
 * The event stream that the engine makes of a receipt's case, for `python -m capture.truth.parting`: one line of JSON an event of the
 * steps, `[bytes, operator, module, phase]`; what is freed has negative bytes and the operator that made it.
 *
 *     node --require ./scripts/typescript.cjs bench/events.ts CASE.json
 */
import { readFileSync } from "node:fs";
import { simulate } from "../src/core/simulate";
import { type Case, graphsOf, runOf } from "../test/core/receipts/case";

const [file = ""] = process.argv.slice(2);
const given = JSON.parse(readFileSync(file, "utf8")) as Case;
const result = simulate(runOf(given), graphsOf(given.model.model_type));
if (!result.ok) throw new Error(JSON.stringify(result));
const { ledger } = result.simulation;
const begun = ledger.phaseList.findIndex(({ phase }) => phase !== "load");
const lines: string[] = [];
for (const [index, { phase, step, firstEvent }] of ledger.phaseList.entries()) {
  if (index < begun) continue;
  const end = ledger.phaseList[index + 1]?.firstEvent ?? ledger.events.length;
  for (const event of ledger.events.subarray(firstEvent, end)) {
    const id = event < 0 ? ~event : event;
    const { operator, scope } = ledger.labelOf(id);
    const bytes = ledger.sizeOf(id);
    lines.push(JSON.stringify([event < 0 ? -bytes : bytes, operator, scope, `${phase}${step}`]));
  }
}
process.stdout.write(`${lines.join("\n")}\n`);
