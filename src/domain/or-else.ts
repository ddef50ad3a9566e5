// A look at something that may fail for any reason: a path, another process, foreign text. Why it failed is of no interest.

export function orElse<T, F>(look: () => T, otherwise: F): T | F {
  try {
    return look()
  } catch {
    return otherwise
  }
}
