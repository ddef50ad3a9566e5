// What is done about a limit that is too small: a person can add to what they or we allowed, at once or the next time; not to what the
// settings say, nor to what whoever asks has set.

import { keyText } from '../../domain/budget/budget-text.ts'
import { advise, quoted } from '../../domain/hint.ts'
import { roundUsd } from '../../domain/model-use.ts'
import type { Failure } from '../../domain/result.ts'
import type { ModelCaps } from '../../runners/models.ts'
import type { ShortCap } from './meter.ts'
import type { Settings } from './user-settings.ts'

export interface Raising {
  ask(short: ShortCap, failure: Pick<Failure, 'message'>): Promise<ShortCap | null>
  hint(short: ShortCap): Failure['hint']
}

const NONE = Number.POSITIVE_INFINITY

export function raisingOf(
  { said, file }: Pick<Settings, 'said' | 'file'>,
  {
    caps: asked = {},
    more,
  }: { readonly caps?: ModelCaps; readonly more?: ((question: string) => Promise<boolean>) | undefined },
): Raising {
  const offerOf = ({ key, cap, need = 0 }: ShortCap): ShortCap => {
    const wanted = Math.max(cap * 1.5, need)
    const half = key === 'usd' ? roundUsd(wanted) : Math.ceil(wanted)
    return { key, cap: Math.min(half, said[key] ?? NONE, asked[key] ?? NONE) }
  }
  const textOf = ({ key, cap }: ShortCap): string => keyText(key === 'usd' ? 'cost' : key, cap)
  return {
    async ask(short, failure) {
      const offer = offerOf(short)
      if (more === undefined || offer.cap <= short.cap) return null
      return (await more(`${failure.message}. Allow ${textOf(offer)} in all?`)) ? offer : null
    },
    hint(short) {
      const offer = offerOf(short)
      const { key, cap } = offer
      if (cap > short.cap)
        return advise`say it again with ${quoted('drafting-budget', { key: key === 'usd' ? 'cost' : key, amount: cap })}`
      if ((asked[short.key] ?? NONE) <= short.cap)
        return 'ask for less: the planner, or the policy around your plans, allows no more'
      return `raise \`caps: ${short.key === 'usd' ? 'cost' : short.key}\` in ${file ?? 'your settings'}, and say it again`
    },
  }
}
