/** Integer arithmetic with + - * / % and parentheses, as the shell does it; null when it is anything else. */
export function calculate(expression: string): number | null {
  const tokens = expression.match(/\d+|[-+*/%()]|\S/g) ?? [];
  let position = 0;
  let depth = 0;
  const primary = (): number | null => {
    const token = tokens[position++];
    if (token === undefined || ++depth > 200) return null;
    if (token === "-") {
      const value = primary();
      return value === null ? null : -value;
    }
    if (token === "(") {
      const value = sum();
      return tokens[position++] === ")" ? value : null;
    }
    return /^\d+$/.test(token) ? Number(token) : null;
  };
  const product = (): number | null => {
    let left = primary();
    while (left !== null && /^[*/%]$/.test(tokens[position] ?? "")) {
      const operator = tokens[position++];
      const right = primary();
      if (right === null || (operator !== "*" && right === 0)) return null;
      left = operator === "*" ? left * right : operator === "/" ? Math.trunc(left / right) : left % right;
    }
    return left;
  };
  const sum = (): number | null => {
    let left = product();
    while (left !== null && /^[-+]$/.test(tokens[position] ?? "")) {
      const operator = tokens[position++];
      const right = product();
      if (right === null) return null;
      left = operator === "+" ? left + right : left - right;
    }
    return left;
  };
  const value = sum();
  return value !== null && position === tokens.length && Number.isSafeInteger(value) ? value : null;
}
