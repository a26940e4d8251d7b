/** Broken records of real runs: receipts, logs, snapshots, traces, graphs. */
import { attacked, KINDS } from "../../test/attack/evidence";
import type { Campaign } from "./campaign";

const EACH = 4000;

export const evidence: Campaign = async (every, from) => {
  const faults: string[] = [];
  let tried = 0;
  let longest = 0;
  for (const [name, kind] of Object.entries(KINDS))
    for (let seed = 1 + from; seed <= EACH; seed += every) {
      const { milliseconds, fault } = attacked(kind, seed);
      tried++;
      longest = Math.max(longest, milliseconds);
      if (fault !== null) faults.push(`${name} ${fault}`);
    }
  return { tried: `${tried} broken records of runs`, faults, longest, longestOf: "answer" };
};
