// Rooms that are loaded when they are first asked: few commands need git, snapshots or a model, and each costs start-up time.

/** A room whose every method answers later, opened at the first of them. */
export function whenAsked<T extends { readonly [K in keyof T]: (...args: never[]) => Promise<unknown> }>(
  open: () => Promise<T>,
): T {
  let opened: Promise<T> | null = null
  const ask =
    (method: keyof T) =>
    async (...args: never[]) => {
      opened ??= open()
      return await (await opened)[method](...args)
    }
  // Nobody who awaits the room itself may take it for a promise.
  return new Proxy({} as T, { get: (_, name) => (name === 'then' ? undefined : ask(name as keyof T)) })
}

export function onceEach<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>()
  return key => {
    const found = made.get(key) ?? make(key)
    made.set(key, found)
    return found
  }
}
