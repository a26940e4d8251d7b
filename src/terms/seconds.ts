import { grouped } from "./sizes";

/** Seconds as every surface says them: two digits, whole from ten on: `0.58`, `8.6`, `17`, `1,210`. */
export function secondsSaid(value: number): string {
  return value >= 10 ? grouped(value.toFixed(0)) : value.toPrecision(2);
}
