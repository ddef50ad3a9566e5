// Circles in a graph of numbers (Tarjan's strongly connected components), without recursion, and who stands in or behind
// one.

export interface Circles {
  /** The circle each stands in; -1 for those in none. One that leads to itself is a circle. */
  readonly circleOf: readonly number[]
  /** In a circle, or leading into one. */
  readonly behind: readonly boolean[]
}

/** `to[a]` lists where `a` leads. */
export function circles(to: readonly (readonly number[])[]): Circles {
  const circleOf = to.map(() => -1)
  const behind = to.map(() => false)
  const seen = to.map(() => 0)
  const low = to.map(() => 0)
  const onStack = to.map(() => false)
  const stack: number[] = []
  const walk: { readonly at: number; next: number }[] = []
  let count = 0
  let found = 0
  for (const root of to.keys()) {
    if (seen[root] !== 0) continue
    enter(root)
    for (let step = walk.at(-1); step !== undefined; step = walk.at(-1)) {
      const target = to[step.at]![step.next++]
      if (target === undefined) leave(step.at)
      else if (seen[target] === 0) enter(target)
      else if (onStack[target]) low[step.at] = Math.min(low[step.at]!, seen[target]!)
      else if (behind[target]) behind[step.at] = true
    }
  }
  return { circleOf, behind }

  function enter(at: number): void {
    seen[at] = low[at] = ++count
    stack.push(at)
    onStack[at] = true
    walk.push({ at, next: 0 })
  }

  function leave(at: number): void {
    walk.pop()
    const above = walk.at(-1)?.at
    if (above !== undefined) low[above] = Math.min(low[above]!, low[at]!)
    if (low[at] === seen[at]) {
      const members = stack.splice(stack.lastIndexOf(at))
      const isCircle = members.length > 1 || to[at]!.includes(at)
      // Who leads into a circle, or shares one with who does, is behind it.
      const isBehind = isCircle || members.some(member => behind[member])
      for (const member of members) {
        onStack[member] = false
        if (isCircle) circleOf[member] = found
        behind[member] = isBehind
      }
      if (isCircle) found++
    }
    if (above !== undefined && behind[at]) behind[above] = true
  }
}
