// Sums over ended attempts by plan, agent, capability, kind or time. The success rate is the share of succeeded among succeeded, failed and
// lost. Read page by page, yielding in between.

import { successRate } from '../../domain/views/summary.ts'
import { limitOf, seal, unseal } from '../cursor.ts'
import { BadCursor, type Page, type StepsQuery, type StepsRow } from '../store.ts'
import type { Transactions } from '../tables.ts'
import type { EndedStep, StepsWhere } from './search-tables.ts'

const PAGE = 2_000
const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1_000
const TOOLS_SHOWN = 50
const HOUR_MS = 60 * 60_000
const EMPTY = { items: [], next: null }

export async function sumSteps(transactions: Transactions, query: StepsQuery): Promise<Page<StepsRow>> {
  const limit = limitOf(query.limit, LIMIT_DEFAULT, LIMIT_MAX)
  const behind = openGroup(query)
  const { plan, agent, capability, kind, since, until, by } = query
  const no = plan === undefined ? undefined : await transactions.read(tables => tables.journal.planNo(plan))
  if (no === null) return EMPTY
  const where: StepsWhere = {
    no,
    ...(agent !== undefined && { agent }),
    ...(capability !== undefined && { capability }),
    ...(kind !== undefined && { kind }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
  const groups = new Map<string | null, Sum>()
  for (let last: EndedStep | null = null; ; ) {
    const from: EndedStep | null = last
    const page: readonly EndedStep[] = await transactions.read(tables => tables.index.ended(where, from, PAGE))
    for (const step of page) {
      for (const group of groupsOf(step, by, capability)) {
        let sum = groups.get(group)
        if (sum === undefined) {
          sum = new Sum()
          groups.set(group, sum)
        }
        sum.add(step)
      }
    }
    if (page.length < PAGE) break
    last = page.at(-1)!
    await new Promise(resolve => setImmediate(resolve))
  }
  const keys = [...groups.keys()].sort(byText).filter(key => behind === undefined || byText(key, behind) > 0)
  const shown = keys.slice(0, limit)
  return {
    items: shown.map(key => groups.get(key)!.row(key)),
    next: keys.length > limit ? seal('steps', query, [shown.at(-1)!]) : null,
  }
}

function groupsOf(step: EndedStep, by: StepsQuery['by'], wanted: string | undefined): readonly (string | null)[] {
  switch (by) {
    case 'plan':
      return [step.plan]
    case 'agent':
      return [step.agent]
    case 'kind':
      return [step.kind]
    case 'capability':
      if (wanted !== undefined) return [wanted]
      return step.capabilities.length === 0 ? [null] : step.capabilities
    case 'hour':
      return [new Date(Math.floor(step.ended.at / HOUR_MS) * HOUR_MS).toISOString()]
    case 'day':
      return [new Date(Math.floor(step.ended.at / (24 * HOUR_MS)) * 24 * HOUR_MS).toISOString()]
    default:
      return by satisfies never
  }
}

class Sum {
  readonly #outcomes = { succeeded: 0, failed: 0, lost: 0 }
  readonly #durations: number[] = []
  readonly #tools = new Map<string, number>()
  #retries = 0
  #files = 0
  #bytes = 0
  #tokens: { input: number; output: number; total: number } | null = null
  #cost: number | null = null

  add({ attempt, ended }: EndedStep): void {
    this.#outcomes[ended.outcome]++
    this.#durations.push(ended.ms)
    this.#retries += Number(attempt > 1)
    this.#files += ended.files
    this.#bytes += ended.bytes
    if (ended.tokens !== null) {
      this.#tokens ??= { input: 0, output: 0, total: 0 }
      this.#tokens.input += ended.tokensIn ?? 0
      this.#tokens.output += ended.tokensOut ?? 0
      this.#tokens.total += ended.tokens
    }
    if (ended.cost !== null) this.#cost = (this.#cost ?? 0) + ended.cost
    for (const tool of ended.tools) this.#tools.set(tool, (this.#tools.get(tool) ?? 0) + 1)
  }

  row(group: string | null): StepsRow {
    const sorted = Float64Array.from(this.#durations).sort()
    const attempts = sorted.length
    return {
      group,
      attempts,
      ...this.#outcomes,
      retries: this.#retries,
      successRate: successRate(this.#outcomes)!,
      durationMs: {
        sum: sorted.reduce((sum, ms) => sum + ms, 0),
        p50: sorted[Math.ceil(attempts * 0.5) - 1]!,
        p95: sorted[Math.ceil(attempts * 0.95) - 1]!,
        max: sorted[attempts - 1]!,
      },
      files: this.#files,
      bytes: this.#bytes,
      tokens: this.#tokens,
      cost: this.#cost,
      tools: Array.from(this.#tools, ([name, steps]) => ({ name, steps }))
        .sort((a, b) => b.steps - a.steps || byText(a.name, b.name))
        .slice(0, TOOLS_SHOWN),
    }
  }
}

const byText = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1

function openGroup(query: StepsQuery): string | null | undefined {
  const place = unseal('steps', query)
  if (place === null) return undefined
  const [group] = place
  if (group === null || typeof group === 'string') return group
  throw new BadCursor('this cursor was not handed out by a list of steps; start again without one')
}
