/** Rules that several tables share. */

import type { Rule } from "../arguments";
import { elementwise } from "../arithmetic";

/** Same result as another operator that only reads its first operand's shape. */
export const likeFirst =
  (operator: string): Rule =>
  (torch, args) =>
    elementwise(torch, operator, [args.tensor(0)], args.dtype(-1) ?? args.tensor(0).dtype);
