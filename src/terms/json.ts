/** What a text says as JSON; undefined where it is none, which JSON itself cannot say. */
export function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
