/** Writes `docs/formats.md` from the formats' tables of keys. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatsPage } from "../src/formats/pages";

writeFileSync(join(__dirname, "../docs/formats.md"), formatsPage());
