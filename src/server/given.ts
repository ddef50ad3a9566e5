// What was given of what may be left out: a key that holds nothing is no key.

export type Given<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> }

export function given<T extends object>(value: T): Given<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Given<T>
}
