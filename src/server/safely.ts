/**
 * The wrapper around every request handler: checks cancellation before and after, and turns an exception into a log
 * line and a fallback, so that one broken document can never take the server down.
 */
import { type CancellationToken, LSPErrorCodes, ResponseError } from "vscode-languageserver";

/** Where failures are written (the connection's console). */
export interface Log {
  error(message: string): void;
}

/** Text of anything thrown, with its stack when it has one. */
export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Runs a handler.
 *
 * @param what name for the log line
 * @param fallback what the client gets when the handler throws
 * @returns the handler's result, the fallback, or the error `RequestCancelled` when the client lost interest
 */
export async function safely<T>(
  log: Log,
  what: string,
  token: CancellationToken,
  fallback: T,
  handler: () => Promise<T> | T,
): Promise<T | ResponseError> {
  if (token.isCancellationRequested) return cancelled();
  try {
    const result = await handler();
    return token.isCancellationRequested ? cancelled() : result;
  } catch (error) {
    log.error(`${what} failed: ${describeError(error)}`);
    return fallback;
  }
}

function cancelled(): ResponseError {
  return new ResponseError(LSPErrorCodes.RequestCancelled, "Request cancelled");
}
