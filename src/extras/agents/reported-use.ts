// Token and cost usage as reported by an agent, taken from the last line that has it. Marked as reported, because it is not
// measured.

import type { JsonObject } from '../../domain/json.ts'
import { amount } from '../../domain/views/reported-work.ts'

export interface ReportedUse {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** In US dollars. */
  readonly cost: number | null
}

const INPUT = [
  ['usage', 'input_tokens'],
  ['usage', 'inputTokens'],
  ['stats', 'input_tokens'],
  ['_meta', 'usage', 'inputTokens'],
]
const OUTPUT = [
  ['usage', 'output_tokens'],
  ['usage', 'outputTokens'],
  ['stats', 'output_tokens'],
  ['_meta', 'usage', 'outputTokens'],
]

export class UseListener {
  #use: ReportedUse = { inputTokens: null, outputTokens: null, cost: null }

  add(report: unknown): void {
    this.#use = {
      inputTokens: whole(firstAt(report, INPUT)) ?? this.#use.inputTokens,
      outputTokens: whole(firstAt(report, OUTPUT)) ?? this.#use.outputTokens,
      cost: amount(costIn(report)) ?? this.#use.cost,
    }
  }

  get use(): ReportedUse | null {
    return Object.values(this.#use).every(value => value === null) ? null : this.#use
  }
}

/** As stored in the result of a task, beside its outputs. */
export function reportedOutput({ inputTokens, outputTokens, cost }: ReportedUse): JsonObject {
  const fields = { input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: cost }
  return { ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)), reported: true }
}

export function reportedWords(use: ReportedUse | null): string {
  if (use === null) return 'the agent did not report what it used; nothing was counted'
  const { inputTokens, outputTokens, cost } = use
  const parts = [
    ...(inputTokens === null ? [] : [`${inputTokens} tokens in`]),
    ...(outputTokens === null ? [] : [`${outputTokens} out`]),
    ...(cost === null ? [] : [`${cost} USD`]),
  ]
  return `reported by the agent, not counted: ${parts.join(', ')}`
}

function costIn(report: unknown): unknown {
  const dollars = valueAt(report, ['total_cost_usd'])
  if (dollars !== undefined) return dollars
  return valueAt(report, ['cost', 'currency']) === 'USD' ? valueAt(report, ['cost', 'amount']) : undefined
}

const firstAt = (value: unknown, paths: readonly (readonly string[])[]): unknown =>
  paths.map(path => valueAt(value, path)).find(found => found !== undefined)

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as { readonly [key: string]: unknown })[key]
  }
  return found
}

const whole = (value: unknown): number | null => (Number.isSafeInteger(value) ? amount(value) : null)
