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
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*:?-*:?\s*$\n?/gm, "")
    .replace(/\*\*|`/g, "");
}
