/** Seconds as every surface says them: two digits, whole from ten on; `0.58`, `8.6`, `17`. */
export function secondsSaid(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toPrecision(2);
}
