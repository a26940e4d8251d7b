/**
 * The pages under `docs/findings`, one per code. What a page says is written there by hand, with the severity of its finding; the
 * case that shows it and how it is silenced are put below, and the index is made of the pages.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Severity } from "../src/formats/types";
import { table } from "../src/terms/table";
import { ending } from "../src/terms/text";

export const FOLDER = join(__dirname, "../docs/findings");

const INDEX = "README.md";

/** A finding as its page has it. */
export interface FindingPage {
  readonly code: string;
  readonly title: string;
  readonly severity: Severity;
  /** What happens and why, and what to do. */
  readonly body: string;
}

/** How people come to a finding, and files that show it. */
interface Shown {
  readonly story: string;
  readonly files: Readonly<Record<string, string>>;
  /** A quick fix mends it. */
  readonly fixed?: true;
}

/** Languages of code blocks, by how a file's name ends. */
const LANGUAGES: Readonly<Record<string, string>> = table({
  json: "json",
  sh: "sh",
  txt: "text",
  py: "python",
  toml: "toml",
});

const FIXED = " There is a quick fix.";

/** Every page, by code. */
export function readFindingPages(): readonly FindingPage[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".md") && name !== INDEX);
  const codes = names.map((name) => name.slice(0, -".md".length)).sort();
  return codes.map((code) => {
    const text = readFileSync(join(FOLDER, `${code}.md`), "utf8");
    const head = /^# (.+)\n\n`([\w-]+)` · (error|warning|information|hint) by default\n\n/.exec(text);
    if (head === null || head[2] !== code || !text.includes("\n**What to do.** "))
      throw new Error(
        `${code}.md: a page is "# Title", "\`code\` · severity by default", what happens, "**What to do.** …"`,
      );
    const [body = ""] = text.slice(head[0].length).split(/\n## (?:A case|Silence it)\n/);
    const [, title = "", , severity] = head;
    return { code, title, severity: severity as Severity, body: body.trimEnd().replace(FIXED, "") };
  });
}

/** Markdown page of a code. */
function findingPage({ code, title, severity, body }: FindingPage, shown: Shown | undefined): string {
  const said = `${body}${shown?.fixed ? FIXED : ""}`;
  const lines = [`# ${title}`, "", `\`${code}\` · ${severity} by default`, "", said, ""];
  if (shown !== undefined) {
    lines.push("## A case", "", shown.story, "");
    for (const [name, text] of Object.entries(shown.files))
      lines.push(`\`${name}\``, "", `\`\`\`${LANGUAGES[ending(name, /\w/)] ?? "yaml"}`, text.trimEnd(), "```", "");
  }
  lines.push(
    "## Silence it",
    "",
    `\`# vramlens-disable-next-line ${code}\` above the line, \`# vramlens-disable ${code}\` for the file, or another severity in the setting \`vramlens.severity\`.`,
    "",
  );
  return lines.join("\n");
}

/** Table of all codes. */
function findingIndex(pages: readonly FindingPage[]): string {
  return [
    "# Findings",
    "",
    "Every diagnostic has a stable code, a page, and a severity that the setting `vramlens.severity` can change. This table is made of the pages by `npm run generate`.",
    "",
    "| code | severity | what it says |",
    "|---|---|---|",
    ...pages.map(({ code, severity, title }) => `| [\`${code}\`](${code}.md) | ${severity} | ${title} |`),
    "",
  ].join("\n");
}

/**
 * File name and text of every page as they should be.
 * @param cases what shows each code
 */
export function findingPages(cases: Readonly<Record<string, Shown>>): ReadonlyMap<string, string> {
  const pages = readFindingPages();
  return new Map([
    [INDEX, findingIndex(pages)],
    ...pages.map((page): [string, string] => [`${page.code}.md`, findingPage(page, cases[page.code])]),
  ]);
}
