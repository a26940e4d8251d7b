/** A part of the broken records of real runs (`npm run attack` tries more): they are read or refused, and nothing is thrown. */
import { strict as assert } from "node:assert";
import { attacked, KINDS } from "./evidence";

const TRIED = 60;

describe("attacks: what a run left behind", () => {
  for (const [name, kind] of Object.entries(KINDS))
    it(name, () => {
      for (let seed = 1; seed <= TRIED; seed++) assert.equal(attacked(kind, seed).fault, null);
    });
});
