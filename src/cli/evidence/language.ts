/** The language of what is printed for a person; a program's output follows `--locale` alone. */
import type { Request } from "../arguments";
import type { Io } from "../io";

/** Language asked for; a person's terminal says it too (POSIX `LC_ALL`, `LC_MESSAGES`, `LANG`), a program's does not. */
export function languageOf(request: Request, io: Io): string | undefined {
  if (request.locale !== undefined || request.format !== "text") return request.locale;
  return io.env["LC_ALL"] || io.env["LC_MESSAGES"] || io.env["LANG"];
}
