/** Choosing the GPU: a quick pick over the catalogue, and where the choice is kept. */
import * as vscode from "vscode";
import {
  type DeviceItem,
  type DevicesResult,
  type EditsResult,
  type FindDeviceParams,
  type FindDeviceResult,
  METHODS,
  type SettleParams,
} from "../server/protocol";
import { applyEdits, dirtyDocuments, saveEdited } from "./applyEdits";
import { labelOf } from "./documents";
import type { Session } from "./session";
import { capacity } from "./statusText";
import { t } from "./words";

interface DeviceChoice extends vscode.QuickPickItem {
  /** Value of the setting: a name, a size, or empty for "what the configs say". */
  readonly value?: string;
  readonly custom?: boolean;
}

interface PlaceChoice extends vscode.QuickPickItem {
  readonly place: vscode.ConfigurationTarget | "pin";
}

/**
 * Asks for a device (unless it is `named`) and where to keep it, then writes it. Nothing is written when the person backs
 * out.
 */
export async function chooseDevice(
  session: Session,
  state: vscode.Memento,
  uri: vscode.Uri | undefined,
  named?: string,
): Promise<void> {
  const device = named ?? (await pickDevice(session, state, uri));
  if (device === undefined) return;
  remember(state, device);
  const isPinned = uri !== undefined && session.status(uri)?.run?.deviceSource === "pin";
  const place = await pickPlace(uri, isPinned);
  if (place === undefined) return;
  if (place === "pin" && uri !== undefined) {
    const params: SettleParams = { uri: uri.toString(), key: "device.name", value: device };
    const edits = await session.request<EditsResult>(METHODS.settle, params);
    const dirty = dirtyDocuments();
    const outcome = await applyEdits(edits);
    if (outcome.ok) await saveEdited(edits, dirty);
    else void vscode.window.showWarningMessage(outcome.message);
    return;
  }
  if (place === "pin") return;
  try {
    const value = device === "" ? undefined : device;
    await vscode.workspace.getConfiguration("vramlens", uri ?? null).update("device", value, place);
  } catch (error) {
    void vscode.window.showErrorMessage(t("settingNotWritten", String(error)));
  }
}

async function pickDevice(
  session: Session,
  state: vscode.Memento,
  uri: vscode.Uri | undefined,
): Promise<string | undefined> {
  const now = vscode.workspace.getConfiguration("vramlens", uri ?? null).get<string>("device", "");
  const choices = session
    .request<DevicesResult>(METHODS.devices, {})
    .then((catalogue): DeviceChoice[] => deviceChoices(catalogue, now, recentDevices(state)));
  const picked = await vscode.window.showQuickPick<DeviceChoice>(choices, {
    title: t("deviceToCheck"),
    placeHolder: t("nameOrSize"),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked === undefined) return undefined;
  if (picked.custom !== true) return picked.value;
  const typed = await vscode.window.showInputBox({
    title: t("deviceToCheck"),
    prompt: t("deviceExamples"),
    value: now,
    validateInput: (text) => checkDevice(session, text),
  });
  return typed?.trim();
}

/** What a typed text means, or that it means nothing; asked of the analyzer, which knows the catalogue. */
async function checkDevice(session: Session, text: string): Promise<vscode.InputBoxValidationMessage> {
  const error = (message: string) => ({ message, severity: vscode.InputBoxValidationSeverity.Error });
  if (text.trim() === "") return error(t("typeDevice"));
  const params: FindDeviceParams = { text };
  const { device, suggestions } = await session.request<FindDeviceResult>(METHODS.findDevice, params);
  if (device !== null) {
    const count = device.count > 1 ? `${device.count} × ` : "";
    const message = `${count}${device.name}, ${capacity(device.memoryBytes)} GiB`;
    return { message, severity: vscode.InputBoxValidationSeverity.Info };
  }
  if (suggestions.length === 0) return error(t("noSuchGpu"));
  return error(t("noSuchGpuPerhaps", suggestions.join(", ")));
}

/** Kept with the extension: the GPUs that were chosen last, newest first. */
const RECENT = "vramlens.recentDevices";
const MOST_RECENT = 5;

function recentDevices(state: vscode.Memento): readonly string[] {
  const kept = state.get<unknown>(RECENT, []);
  return Array.isArray(kept) ? kept.filter((name) => typeof name === "string") : [];
}

function remember(state: vscode.Memento, device: string): void {
  if (device === "") return;
  const kept = [device, ...recentDevices(state).filter((name) => name !== device)].slice(0, MOST_RECENT);
  void state.update(RECENT, kept);
}

function deviceChoices(catalogue: DevicesResult, now: string, recent: readonly string[]): DeviceChoice[] {
  const separator = (label: string): DeviceChoice => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const choices: DeviceChoice[] = [
    { label: `$(edit) ${t("customDevice")}`, custom: true, alwaysShow: true },
    { label: `$(file-code) ${t("noDefaultGpu")}`, value: "", ...(now === "" ? { description: t("chosen") } : {}) },
  ];
  const all = catalogue.groups.flatMap(({ devices }) => devices);
  const items = (devices: readonly DeviceItem[]): DeviceChoice[] =>
    devices.map(({ name, memoryBytes }) => {
      const { label, maker } = shortName(name);
      const facts = [
        `${capacity(memoryBytes)} GiB`,
        ...(maker === "" ? [] : [maker]),
        ...(name === now ? [t("chosen")] : []),
      ];
      return { label, description: facts.join(" · "), value: name };
    });
  const named = (names: readonly string[]) => names.flatMap((name) => all.find((device) => device.name === name) ?? []);
  const shown = new Set<string>();
  const section = (label: string, devices: readonly DeviceItem[]): void => {
    const fresh = devices.filter(({ name }) => !shown.has(name));
    for (const { name } of fresh) shown.add(name);
    if (fresh.length > 0) choices.push(separator(label), ...items(fresh));
  };
  section(t("chosenLast"), named(recent));
  section(t("common"), named(catalogue.common));
  for (const { label, devices } of catalogue.groups) section(label, devices);
  section(
    t("slicesMig"),
    all.flatMap(({ slices }) => slices.map((slice) => ({ ...slice, slices: [] }))),
  );
  return choices;
}

/** A name as people type it: `NVIDIA GeForce RTX 4090` is `RTX 4090`; the maker is a remark. */
function shortName(name: string): { readonly label: string; readonly maker: string } {
  const found = /^(NVIDIA|AMD|Intel|Apple|Tesla)\s+(?:GeForce |Radeon |Instinct )?/.exec(name);
  if (found === null || found[1] === "Apple") return { label: name, maker: "" };
  return { label: name.slice(found[0].length), maker: found[1] === "Tesla" ? "Tesla" : (found[1] ?? "") };
}

/** @param isPinned the config names its GPU already, which wins over any setting: that place is offered first */
async function pickPlace(uri: vscode.Uri | undefined, isPinned: boolean): Promise<PlaceChoice["place"] | undefined> {
  const places: PlaceChoice[] = [];
  if (vscode.workspace.workspaceFolders !== undefined) {
    places.push({
      label: t("thisWorkspace"),
      description: t("workspaceSetting"),
      place: vscode.ConfigurationTarget.Workspace,
    });
  }
  places.push({
    label: t("everywhere"),
    description: t("userSetting"),
    place: vscode.ConfigurationTarget.Global,
  });
  if (uri !== undefined && uri.scheme !== "untitled" && vscode.workspace.getWorkspaceFolder(uri) !== undefined) {
    const pin: PlaceChoice = { label: t("onlyHere", labelOf(uri)), description: ".vramlens.yaml", place: "pin" };
    if (isPinned) places.unshift({ ...pin, detail: t("configNamesGpu") });
    else places.push(pin);
  }
  const picked = await vscode.window.showQuickPick(places, { title: t("useGpuFor") });
  return picked?.place;
}
