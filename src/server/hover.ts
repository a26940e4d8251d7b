/** The analysis's hover as a client can show it: with a picture, or with a table and blocks, and links to its commands. */
import { type Hover, MarkupKind } from "vscode-languageserver";
import type { HoverContent } from "../analysis/analyzer";
import { inShortLines } from "./hoverLines";
import { pictureLink } from "./hoverPicture";
import { CLIENT_COMMANDS, type ThemeKind } from "./protocol";
import { type Locale, text } from "./text";

export interface HoverContext {
  readonly uri: string;
  readonly commands: ReadonlySet<string>;
  /** Whether the client renders Markdown. */
  readonly markdown: boolean;
  /** Kind of theme that pictures are drawn for; undefined: the client shows none. */
  readonly pictures: ThemeKind | undefined;
  /** The hover is of a notebook's cell. */
  readonly inCell?: boolean;
  readonly locale: Locale;
}

/** An LSP hover. Command links are added here, so that clients without the commands never see one. */
export function toHover(content: HoverContent, context: HoverContext): Hover {
  if (!context.markdown) {
    return { contents: { kind: MarkupKind.PlainText, value: plain(content.markdown) }, range: content.range };
  }
  const links = linksOf(content, context);
  const shown =
    context.pictures === undefined
      ? lettered(content, links)
      : pictured(content, links, { theme: context.pictures, narrow: context.inCell === true });
  return { contents: { kind: MarkupKind.Markdown, value: joined(shown) }, range: content.range };
}

function joined(blocks: readonly string[]): string {
  return blocks.filter((block) => block !== "").join("\n\n");
}

function lettered({ lead, table, next, breakdown, below }: HoverContent, links: string): readonly string[] {
  return [lead, table, next, links, breakdown, below];
}

/** The verdict first, unless the editor already shows it as a finding right above. */
function pictured(
  content: HoverContent,
  links: string,
  { theme, narrow }: { readonly theme: ThemeKind; readonly narrow: boolean },
): readonly string[] {
  const { lead, picture, next, below, saidByFinding } = content;
  const lines = narrow ? inShortLines : (text: string): string => text;
  const image = picture === null ? "" : `![${altText(picture.alt)}](${pictureLink(picture, theme)})`;
  const steps = [next, links].filter((part) => part !== "").map(lines);
  const head = [saidByFinding ? "" : lines(lead), image, steps.join("  \n")];
  return below === "" ? head : [...head, "---", lines(below)];
}

function altText(alt: string): string {
  return alt.replace(/[[\]\\]/g, " ");
}

/** What can be done: the best plan in a line of its own, as it is the longest, the rest in the next. */
function linksOf(content: HoverContent, { commands, uri, locale }: HoverContext): string {
  const { batch, best, needsPlan, runId, open } = content;
  const link = (name: keyof typeof CLIENT_COMMANDS, label: string, ...args: readonly unknown[]): string[] =>
    commands.has(CLIENT_COMMANDS[name]) ? [`[${label}](${commandLink(CLIENT_COMMANDS[name], [uri, ...args])})`] : [];
  const device = link("chooseDevice", text(locale, "chooseDevice"));
  const values = Object.values(batch ?? {}).join(" × ");
  const plan =
    needsPlan && best !== undefined
      ? link("applyBest", `${best.title} · ${best.says}`).map((one) => text(locale, "apply", one))
      : [];
  const ways = [
    ...(batch === undefined ? [] : link("applyValues", text(locale, "setBatch", values), runId, batch)),
    ...(needsPlan && best === undefined ? link("applyBest", text(locale, "applyBest")) : []),
    ...(open?.what === "count" ? link("pin", open.title, "device.count", open.value) : []),
    ...(open?.what === "model" ? (["pointToModel", "chooseModel"] as const) : []).flatMap((name) =>
      link(name, text(locale, name)),
    ),
    ...(open?.what === "device" ? device : []),
    ...link("openPanel", text(locale, needsPlan ? "allPlans" : "openPanel")),
    // Of a model that nobody knows no GPU tells anything.
    ...(open?.what === "model" || open?.what === "device" ? [] : device),
  ];
  return [...plan, ways.join(" · ")].filter((line) => line !== "").join("  \n");
}

function commandLink(command: string, args: readonly unknown[]): string {
  return `command:${command}?${encodeURIComponent(JSON.stringify(args)).replace(/[()]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`;
}

/** Markdown without its marks, for clients that show text only. */
function plain(markdown: string): string {
  return withoutLinks(markdown)
    .split("\n")
    .filter((line) => !(line.includes("--") && line.includes("|") && /^[\s|:-]*$/.test(line)))
    .join("\n")
    .replace(/\*\*|`/g, "");
}

/** `[text](target)` as its text. */
function withoutLinks(markdown: string): string {
  let shown = "";
  let last = 0;
  for (let middle = markdown.indexOf("]("); middle >= 0; middle = markdown.indexOf("](", last)) {
    const open = markdown.lastIndexOf("[", middle);
    const close = markdown.indexOf(")", middle);
    if (close < 0) break;
    shown +=
      open < last ? markdown.slice(last, close + 1) : markdown.slice(last, open) + markdown.slice(open + 1, middle);
    last = close + 1;
  }
  return shown + markdown.slice(last);
}
