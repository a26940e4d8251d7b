/** Where the project lives. One place: the manifest, the help links and the pages of the site follow it, which a test checks. */
export const REPOSITORY = "https://github.com/vram-lens/vram-lens";

/** The pages that are made from `docs/` (`npm run site`). Ends with a slash. */
export const HOME = "https://vram-lens.github.io/vram-lens/";
