// The words with which a task explains its result: for the task that it sends back, repairs or leads to.

import type { Result } from '../result.ts'

const TEXT_MAX = 4_000

/** Its output `feedback`, `text` or `summary`, else all outputs, else its outcome. */
export function explanationOf(result: Result | null): string {
  const { outputs = {} } = result ?? {}
  const outcome = result?.status === 'succeeded' ? result.outcome : undefined
  const words = ['feedback', 'text', 'summary'].map(name => outputs[name]).find(value => typeof value === 'string')
  if (typeof words === 'string') return cut(words)
  return cut(Object.keys(outputs).length > 0 ? JSON.stringify(outputs) : (outcome ?? 'repaired'))
}

/** Only words: one of these outputs, or what a person wrote as the reason; null for none. */
export function wordsIn(result: Result | null): string | null {
  const { outputs = {} } = result ?? {}
  const words = ['feedback', 'text', 'summary', 'rationale', 'reason'].map(name => outputs[name])
  const found = words.find(value => typeof value === 'string' && value.trim() !== '')
  return typeof found === 'string' ? cut(found) : null
}

const cut = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text)
