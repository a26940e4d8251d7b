/** The language of what is printed for a person; a program's output follows `--locale` alone. */
import type { Request } from "../arguments";
import type { Io } from "../io";

/** Language asked for; a person's terminal says it too (POSIX `LC_ALL`, `LC_MESSAGES`, `LANG`), a program's does not. */
export function languageOf({ locale, format }: Pick<Request, "locale" | "format">, io: Io): string | undefined {
  if (locale !== undefined || format !== "text") return locale;
  return io.env["LC_ALL"] || io.env["LC_MESSAGES"] || io.env["LANG"];
}

/** The same of arguments that were not read yet, and may not be what they should. */
export function languageAsked(argv: readonly string[], io: Io): string | undefined {
  const given = (option: string): string | undefined => {
    const at = argv.findIndex((word) => word === option || word.startsWith(`${option}=`));
    return at < 0 ? undefined : (argv[at]?.split("=")[1] ?? argv[at + 1]);
  };
  const format = given("--format");
  return languageOf(
    { locale: given("--locale"), format: format === "json" || format === "sarif" ? format : "text" },
    io,
  );
}
