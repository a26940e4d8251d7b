/** Weights that something puts on a loaded model: a value head, layers of a script's own around it. */
import type { Tensor } from "../engine/tensor";
import type { LoadedModel } from "./loaded-model";

/** The model with weights of these names more. */
export function withWeights(model: LoadedModel, own: ReadonlyMap<string, Tensor>): LoadedModel {
  const elements = [...own.values()].reduce((sum, tensor) => sum + tensor.elements, 0);
  const trained = [...own.values()].reduce((sum, one) => sum + (one.requiresGradFlag ? one.elements : 0), 0);
  return {
    ...model,
    parameters: [...model.parameters, ...own.values()],
    byName: new Map([...model.byName, ...own]),
    elements: model.elements + elements,
    trainableElements: model.trainableElements + trained,
  };
}
