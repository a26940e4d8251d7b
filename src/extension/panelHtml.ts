/** The panel's empty page: policy, style sheet, script. Everything shown arrives later as data. */

export interface PanelResources {
  /** `webview.cspSource` */
  readonly cspSource: string;
  readonly scriptUri: string;
  readonly styleUri: string;
  /** Fresh for each page. */
  readonly nonce: string;
  /** BCP 47 tag for the page's `lang`. */
  readonly language: string;
  readonly title: string;
  /** The page starts a thread of its own from a program that it reads beside itself. */
  readonly worker?: boolean;
}

/** HTML of the page. Nothing inline runs, nothing is loaded from elsewhere. */
export function panelHtml(resources: PanelResources): string {
  const { cspSource, scriptUri, styleUri, nonce, language, title } = resources;
  const policy = [
    "default-src 'none'",
    `style-src ${cspSource}`,
    `script-src 'nonce-${nonce}'`,
    `img-src ${cspSource} data: blob:`,
    `font-src ${cspSource}`,
    ...(resources.worker === true ? ["worker-src blob:", `connect-src ${cspSource}`] : []),
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${attribute(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${attribute(title)}</title>
<link rel="stylesheet" href="${attribute(styleUri)}">
</head>
<body>
<div id="app"></div>
<script type="module" nonce="${attribute(nonce)}" src="${attribute(scriptUri)}"></script>
</body>
</html>
`;
}

/** Text inside a quoted attribute or an element. */
function attribute(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** 128 random bits in hexadecimal. */
export function makeNonce(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
