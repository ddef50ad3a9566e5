// Can a version of a file that is no longer in place be got back by a documented command? The one place that knows which
// command that is.

import { createHash } from 'node:crypto'
import { type Answer, answersOf } from './cli.ts'
import type { Episode } from './episode.ts'
import type { Version } from './person.ts'

/** Null when it can; otherwise why not. */
export async function recoverable(episode: Episode, version: Version): Promise<string | null> {
  const refusals: string[] = []
  for (const { name } of episode.scenario.plans) {
    const call = await episode.cli.say('checkpoints', 'cat', name, version.sha256 ?? '')
    const [answer] = answersOf(call)
    if (call.code === 0 && hashOf(answer) === version.sha256) return null
    refusals.push(answer?.error?.message ?? `exit ${call.code}`)
  }
  return `planfold checkpoints cat: ${refusals.join('; ')}`
}

function hashOf(answer: Answer | undefined): string | null {
  const { text, base64 } = (answer?.data ?? {}) as { text?: string; base64?: string }
  const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
  return createHash('sha256').update(bytes).digest('hex')
}
