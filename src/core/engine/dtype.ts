/**
 * Dtypes and PyTorch's promotion rules. Source: c10/core/ScalarType.h and aten/src/ATen/native/TypeProperties.cpp.
 */

/** Floating-point and integer dtypes that tensors of a training step have. */
export type DType =
  | "float32"
  | "float16"
  | "bfloat16"
  | "float64"
  | "int64"
  | "int32"
  | "int16"
  | "uint8"
  | "int8"
  | "bool"
  | "float8"
  | "complex64";

/** Bytes of one element. */
export const ELEMENT_BYTES: Readonly<Record<DType, number>> = {
  complex64: 8,
  float64: 8,
  float32: 4,
  float16: 2,
  bfloat16: 2,
  float8: 1,
  int64: 8,
  int32: 4,
  int16: 2,
  uint8: 1,
  int8: 1,
  bool: 1,
};

/** Whether a text names a dtype. */
export function isDType(name: unknown): name is DType {
  return typeof name === "string" && Object.hasOwn(ELEMENT_BYTES, name);
}

/** Category order of `result_type`: bool < integer < floating < complex. */
const CATEGORY: Readonly<Record<DType, 0 | 1 | 2 | 3>> = {
  bool: 0,
  uint8: 1,
  int8: 1,
  int16: 1,
  int32: 1,
  int64: 1,
  float8: 2,
  float16: 2,
  bfloat16: 2,
  float32: 2,
  float64: 2,
  complex64: 3,
};

export function isFloating(dtype: DType): boolean {
  return CATEGORY[dtype] === 2;
}

/** Dtype category: 0 bool, 1 integer, 2 floating, 3 complex. */
export function category(dtype: DType): 0 | 1 | 2 | 3 {
  return CATEGORY[dtype];
}

/** `c10::promoteTypes` for two tensors of the same priority. */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  const ca = CATEGORY[a];
  const cb = CATEGORY[b];
  if (ca !== cb) return ca > cb ? a : b;
  if (ca === 2 && ELEMENT_BYTES[a] === 2 && ELEMENT_BYTES[b] === 2) return "float32";
  return ELEMENT_BYTES[a] >= ELEMENT_BYTES[b] ? a : b;
}

/**
 * `at::result_type`: tensors with dimensions decide; zero-dimensional tensors and Python numbers only raise the
 * category. A Python float beside integers gives the default dtype, float32.
 */
export function resultType(
  operands: readonly ({ readonly dtype: DType; readonly sizes: readonly number[] } | number | boolean)[],
): DType {
  let dimensioned: DType | null = null;
  let zero: DType | null = null;
  let wrapped: DType | null = null;
  for (const operand of operands) {
    if (typeof operand === "object") {
      if (operand.sizes.length > 0)
        dimensioned = dimensioned === null ? operand.dtype : promote(dimensioned, operand.dtype);
      else zero = zero === null ? operand.dtype : promote(zero, operand.dtype);
    } else {
      const own: DType = typeof operand === "boolean" ? "bool" : Number.isInteger(operand) ? "int64" : "float32";
      wrapped = wrapped === null ? own : promote(wrapped, own);
    }
  }
  let result = dimensioned;
  for (const lower of [zero, wrapped]) {
    if (lower === null) continue;
    if (result === null) result = lower;
    else if (CATEGORY[lower] > CATEGORY[result]) result = lower;
  }
  return result ?? "float32";
}

/** Result dtype of operands that are all cast first (`cat`, `stack`). */
export function promoteAll(operands: readonly { readonly dtype: DType }[]): DType {
  return operands.reduce<DType>((dtype, operand) => promote(dtype, operand.dtype), operands[0]!.dtype);
}
