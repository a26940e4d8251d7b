/** A module that a script puts in the place of one of its model's (`model.conv1 = nn.Conv2d(1, 64, 3)`). */
import type { OwnLayer } from "./own-loss";

export interface ReplacedModule {
  /** Of the module in the model: `conv1`, `classifier.6`. */
  readonly path: string;
  /** As the script writes it. */
  readonly key: string;
  /** Layers in its place, in their order; their paths begin with that of the module. */
  readonly layers: readonly OwnLayer[];
}
