/** The one status item: the active document's total against its card. */
import * as vscode from "vscode";
import type { CurrentDocument } from "./currentDocument";
import { labelOf } from "./documents";
import type { Session } from "./session";
import { statusText } from "./statusText";
import { t } from "./words";

/** Commands the tooltip may link to. */
const TOOLTIP_COMMANDS = ["vramlens.openPanel", "vramlens.chooseDevice", "vramlens.toggle", "vramlens.showLogs"];

/** Shows the item while the current document is a training config, and nothing otherwise. */
export function createStatusItem(session: Session, current: CurrentDocument): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("vramlens.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "VRAM Lens";
  item.command = "vramlens.openPanel";

  const update = () => {
    const { uri } = current;
    const status = uri && session.status(uri);
    void vscode.commands.executeCommand("setContext", "vramlens.active", status?.state === "ready");
    const isShown = vscode.workspace.getConfiguration("vramlens").get<boolean>("statusBar.enable", true);
    const text = isShown && status !== undefined ? statusText(status, t) : undefined;
    if (text === undefined || uri === undefined) {
      item.hide();
      return;
    }
    item.text = text.text;
    item.accessibilityInformation = { label: text.label, role: "button" };
    item.backgroundColor =
      text.level === "none" ? undefined : new vscode.ThemeColor(`statusBarItem.${text.level}Background`);
    item.tooltip = tooltip(labelOf(uri), text.tooltip);
    item.show();
  };

  update();
  return vscode.Disposable.from(
    item,
    session.onStatus(update),
    session.onState(update),
    current.onDidChange(update),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("vramlens.statusBar.enable")) update();
    }),
  );
}

function tooltip(label: string, lines: readonly string[]): vscode.MarkdownString {
  const markdown = new vscode.MarkdownString(undefined, true);
  markdown.isTrusted = { enabledCommands: TOOLTIP_COMMANDS };
  markdown.appendMarkdown([...lines].join("\n\n"));
  markdown.appendMarkdown("\n\n");
  markdown.appendText(label);
  const links = [
    `[${t("openPanel")}](command:vramlens.openPanel)`,
    `[${t("chooseGpu")}](command:vramlens.chooseDevice)`,
    `[${t("switchOff")}](command:vramlens.toggle)`,
    `[${t("showTheLogs")}](command:vramlens.showLogs)`,
  ];
  markdown.appendMarkdown(`\n\n---\n\n${links.join(" · ")}`);
  return markdown;
}
