/** What a library asks `stream/web` for, in programs that run in browsers too. */
export const { ReadableStream } = globalThis;
