/** Accessibility of a page, as axe-core sees it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules of WCAG 2.2 A and AA and good practice that the frame breaks, each with the first place. */
export async function accessibilityProblems(frame) {
  // A string is evaluated by the debugger, which the page's policy does not concern.
  await frame.evaluate(axe);
  return frame.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await globalThis.axe.run(document, { runOnly: tags });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].target.join(" ")} (${nodes.length})`);
  });
}
