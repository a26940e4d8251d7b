/** How a module is split over GPUs: by columns or rows of its matrix, or by rows of the vocabulary. */
export type Style = "columns" | "rows" | "gathered-columns" | "split-rows" | "vocabulary";
