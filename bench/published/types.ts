/**
 * Peaks that others measured on real cards and published, as facts: where, of which run, which figure.
 *
 * A run is written as the documents a person would have: the config in its own format, and pins for what the source
 * says in prose. Nothing in the estimator is adjusted to these rows.
 */

/** Where figures were read, at the commit they were read at. */
export interface Source {
  readonly title: string;
  /** A row's `at` is a path below it. */
  readonly url: string;
  /** What is measured, and on what. */
  readonly measured: string;
  /** Key of `MECHANISMS`: why its rows lie outside the band, where a row does not say otherwise. */
  readonly miss?: string;
}

/**
 * `allocated`: `torch.cuda.max_memory_allocated`; `reserved`: `max_memory_reserved`; `device`: what the driver shows
 * (`nvidia-smi`, NVML); `unsaid`: the source does not say which.
 */
export type Measure = "allocated" | "reserved" | "device" | "unsaid";

/** `G` is written by sources that do not say whether it is 10⁹ or 2³⁰ bytes: the figure is that whole range. */
export type Unit = "B" | "MiB" | "GB" | "GiB" | "G";

/** A run somebody described. */
export interface PublishedRun {
  /** Key of `SOURCES`. */
  readonly source: string;
  /** Path below the source's address, where a row has a file of its own. */
  readonly at?: string;
  /** The run in a few words, unique within its source. */
  readonly run: string;
  /** By file name; the first one is opened. */
  readonly documents: Readonly<Record<string, string>>;
  /** Keys of `ASSUMPTIONS`: what the source leaves open, and what we took. */
  readonly assumed?: readonly string[];
  /** Key of `MECHANISMS`: why the estimate differs, where it is not what the source's rows have in common. */
  readonly miss?: string | undefined;
}

/** A run whose peak was published. */
export interface PublishedPeak extends PublishedRun {
  /** As printed: its last digit says how far it was rounded. */
  readonly figure: string;
  readonly unit: Unit;
  readonly measure: Measure;
}

/** A run of which only the outcome was published. */
export interface PublishedOutcome extends PublishedRun {
  readonly ran: boolean;
}
