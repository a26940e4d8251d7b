/** The modules of a model by path, each with the parameters that are its own. */
import type { Tensor } from "../../../../engine/tensor";
import type { ZeroModule } from "./coordinator";
import type { ZeroParameter } from "./parameter";

/** Factors of adapters are modules of their own in a dictionary of them (peft/tuners/lora/layer.py). */
const FACTOR = /\.lora_[AB]$/;
/** … and so are DoRA's magnitudes. */
const OWN_MODULE = /\.lora_(?:[AB]|magnitude_vector)$/;
const ATTRIBUTE = /\.[^.]+$/;
/** Factors that DoRA's module calls are still those of the layer (peft/tuners/lora/dora.py). */
const CALLED = /\.lora_magnitude_vector(?=\.lora_[AB]$)/;

export class Modules {
  private readonly modules = new Map<string, ZeroModule>();

  /** @param names parameters by every name they go by */
  constructor(
    parameters: ReadonlyMap<Tensor, ZeroParameter>,
    names: Iterable<readonly [name: string, parameter: Tensor]>,
  ) {
    const own = new Map<string, Set<ZeroParameter>>();
    const named = [...names];
    const adapted = new Set(named.filter(([name]) => FACTOR.test(name)).map(([name]) => name.replace(FACTOR, "")));
    for (const [name, tensor] of named) {
      const parameter = parameters.get(tensor);
      if (parameter === undefined) continue;
      const path = OWN_MODULE.test(name) ? name : name.replace(ATTRIBUTE, "");
      // The layer under an adapter is a module inside the adapter's.
      const isBase = adapted.has(path) && /\.(?:weight|bias)$/.test(name);
      const at = isBase ? `${path}.base_layer` : path;
      const known = own.get(at);
      if (known === undefined) own.set(at, new Set([parameter]));
      else known.add(parameter);
    }
    for (const [path, list] of own)
      this.modules.set(
        path,
        moduleOf(
          path,
          [...list].sort((a, b) => a.id - b.id),
        ),
      );
  }

  /** The parameter at a path (`x.base_layer.weight`). */
  parameter(path: string): ZeroParameter | undefined {
    const [attribute = ""] = ATTRIBUTE.exec(path) ?? [];
    const { parameters, path: module } = this.at(path.slice(0, path.length - attribute.length));
    return parameters.find(({ tensor: { name } }) => name === module || name?.endsWith(attribute) === true);
  }

  /** Modules with parameters of their own. */
  all(): Iterable<ZeroModule> {
    return this.modules.values();
  }

  /** The module at a path; those without parameters are steps of the trace, too. */
  at(called: string): ZeroModule {
    const path = called.replace(CALLED, "");
    let module = this.modules.get(path);
    if (module === undefined) {
      module = moduleOf(path, []);
      this.modules.set(path, module);
    }
    return module;
  }
}

function moduleOf(path: string, parameters: ZeroParameter[]): ZeroModule {
  return { path, parameters, recomputed: new Set() };
}
