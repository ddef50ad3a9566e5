// While a seed runs, nobody in src/ or sim/ may ask the real clock, real luck or a real timer: whoever does is found by its
// stack and written down. Others (the test runner, Node itself) are let through. What is imported by name from node: modules,
// such as hashing, cannot be replaced here; the architecture test forbids the parts of it that would not repeat.

type Call = (...args: never[]) => unknown

export function guardGlobals(leaked: (what: string) => void): () => void {
  const undo: (() => void)[] = []
  const guard = (target: object, key: string, name: string) => {
    const real = Reflect.get(target, key) as Call
    const stub = function (this: unknown, ...args: never[]) {
      const stack = new Error().stack?.split('\n') ?? []
      const ours = stack.slice(2, 4).find(line => /\/(src|sim)\//.test(line) && !line.includes('node_modules'))
      if (ours === undefined) return Reflect.apply(real, this ?? target, args)
      leaked(`${name} ${ours.trim()}`)
      throw new Error(`leak: ${name} is not to be had in a simulation`)
    }
    Reflect.set(target, key, stub)
    undo.push(() => Reflect.set(target, key, real))
  }
  guard(Date, 'now', 'Date.now')
  guard(Math, 'random', 'Math.random')
  guard(performance, 'now', 'performance.now')
  for (const timer of ['setTimeout', 'setInterval', 'setImmediate', 'fetch'] as const) guard(globalThis, timer, timer)
  return () => {
    for (const step of undo.reverse()) step()
  }
}
