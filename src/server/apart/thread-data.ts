/** What a thread is given so that the program in it knows that it serves analyses. */
export const THREAD_DATA = "vram-lens-analysis";
