import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The rows of a file of lines of JSON; the caller says what they are. */
export function rowsOf<Row>(...path: readonly string[]): Row[] {
  const lines = readFileSync(join(...path), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Row);
}
