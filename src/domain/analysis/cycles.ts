// Cycles in a graph of numbers (Tarjan's strongly connected components, without recursion), and the nodes that lead into one.

export interface Circles {
  /** The cycle of each node, -1 for none. A self-loop is a cycle. */
  readonly circleOf: readonly number[]
  /** In a cycle, or leading into one. */
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
