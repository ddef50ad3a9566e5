// A look at something that may fail: a path, another process, foreign text. Why it failed is of no interest; what is not expected is thrown.

type Expected = (error: unknown) => boolean

export function orElse<T, F>(look: () => T, otherwise: F, isExpected: Expected = () => true): T | F {
  try {
    return look()
  } catch (error) {
    if (isExpected(error)) return otherwise
    throw error
  }
}

export async function orElseAsync<T, F>(look: () => Promise<T>, otherwise: F, isExpected: Expected): Promise<T | F> {
  try {
    return await look()
  } catch (error) {
    if (isExpected(error)) return otherwise
    throw error
  }
}

export const isA =
  (kind: abstract new (...given: never[]) => Error): Expected =>
  error =>
    error instanceof kind
