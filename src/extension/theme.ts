/** The kind of the window's colour theme. */
import * as vscode from "vscode";
import type { ThemeKind } from "../server/protocol";

/** What pictures in hovers are drawn for. */
export function themeKind({ kind }: vscode.ColorTheme): ThemeKind {
  switch (kind) {
    case vscode.ColorThemeKind.Light:
      return "light";
    case vscode.ColorThemeKind.HighContrast:
      return "contrast-dark";
    case vscode.ColorThemeKind.HighContrastLight:
      return "contrast-light";
    default:
      return "dark";
  }
}
