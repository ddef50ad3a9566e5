// Lists of operations: which refs they changed, and in which order.

import type { GitOperation, RefOperation } from '../../domain/plan-rules/git-operation.ts'

export type * from '../../domain/plan-rules/git-operation.ts'

export function isRefOperation(operation: GitOperation): operation is RefOperation {
  return 'before' in operation
}

export interface RefChain {
  readonly ref: string
  readonly operations: readonly RefOperation[]
}

export function refChains(operations: readonly GitOperation[]): readonly RefChain[] {
  const found = new Map<string, RefOperation[]>()
  for (const each of operations) {
    if (!isRefOperation(each)) continue
    const list = found.get(each.ref) ?? []
    found.set(each.ref, list)
    // An operation that was found done may be recorded twice, but happened once.
    const follows = list.length === 0 || list.at(-1)!.after === each.before
    if (!follows && list.some(known => known.before === each.before && known.after === each.after)) continue
    list.push(each)
  }
  return [...found].map(([ref, list]) => ({ ref, operations: list }))
}

export function chainOf(operations: readonly GitOperation[], ref: string): readonly RefOperation[] {
  return refChains(operations).find(chain => chain.ref === ref)?.operations ?? []
}
