// `planfold summary [PLAN…] --form digest|handoff|pr`.

import { type Context, usage } from '../../command.ts'
import type { PrOptions } from '../git/pr.ts'
import type { DigestOptions } from './digest.ts'
import type { HandoffOptions } from './handoff.ts'

export interface SummaryOptions extends DigestOptions, HandoffOptions, PrOptions {
  readonly form: 'digest' | 'handoff' | 'pr'
  /** The older name of `out`. */
  readonly write?: string
}

export async function summary(context: Context, words: readonly string[], options: SummaryOptions): Promise<number> {
  const { form, write, out = write } = options
  if (form === 'digest') return await (await import('./digest.ts')).digest(context, words, options)
  const [word, ...others] = words
  if (others.length > 0) throw usage(`--form ${form} is about one plan, not ${words.length}`, 'name one plan')
  if (form === 'handoff') return await (await import('./handoff.ts')).handoff(context, word, { ...options, out })
  return await (await import('../git/pr.ts')).pr(context, word, { ...options, out })
}
