/** Accessibility of a page, as axe-core sees it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Rules of WCAG 2.2 A and AA and good practice that the frame breaks, each with the first place.
 *
 * @param within a selector of the part that is ours, in a frame that is the editor's
 */
export async function accessibilityProblems(frame, within) {
  // A string is evaluated by the debugger, which the page's policy does not concern.
  await frame.evaluate(axe);
  return frame.evaluate(async (selector) => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await globalThis.axe.run(selector === undefined ? document : selector, { runOnly: tags });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].target.join(" ")} (${nodes.length})`);
  }, within);
}
