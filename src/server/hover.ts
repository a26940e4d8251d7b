/** The analysis's hover, with links to the client's commands where the client has them. */
import { type Hover, MarkupKind } from "vscode-languageserver";
import type { HoverContent } from "../analysis/analyzer";
import { CLIENT_COMMANDS } from "./protocol";
import { type Locale, text } from "./text";

export interface HoverContext {
  readonly uri: string;
  readonly commands: ReadonlySet<string>;
  /** Whether the client renders Markdown. */
  readonly markdown: boolean;
  readonly locale: Locale;
}

/** An LSP hover. Command links are added here, so that clients without the commands never see one. */
export function toHover(content: HoverContent, context: HoverContext): Hover {
  if (!context.markdown) {
    return { contents: { kind: MarkupKind.PlainText, value: plain(content.markdown) }, range: content.range };
  }
  const links = (["openPanel", "chooseDevice"] as const)
    .filter((name) => context.commands.has(CLIENT_COMMANDS[name]))
    .map((name) => `[${text(context.locale, name)}](${commandLink(CLIENT_COMMANDS[name], context.uri)})`);
  const value = links.length === 0 ? content.markdown : `${content.markdown.trimEnd()}\n\n${links.join(" · ")}`;
  return { contents: { kind: MarkupKind.Markdown, value }, range: content.range };
}

function commandLink(command: string, uri: string): string {
  return `command:${command}?${encodeURIComponent(JSON.stringify([uri]))}`;
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
