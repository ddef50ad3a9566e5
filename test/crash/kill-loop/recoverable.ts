// Can a version of a file that is no longer in place be got back by a documented command? The one place that knows which
// commands these are: `planfold undo files PLAN` must list it, and `planfold checkpoint cat` must give exactly its bytes. A build
// without `restore` is held to the second alone.

import { createHash } from 'node:crypto'
import { type Answer, answersOf, type Call } from './cli.ts'
import type { Episode } from './episode.ts'
import type { Version } from './person.ts'

/** Null when it can; otherwise why not. */
export async function recoverable(episode: Episode, version: Version): Promise<string | null> {
  const refusals: string[] = []
  for (const { name } of episode.scenario.plans) {
    const list = await episode.cli.probe('undo', 'files', name)
    if (!isUnknownCommand(list) && !lists(list, version)) {
      refusals.push(`planfold undo files ${name} does not list it`)
      continue
    }
    const call = await episode.cli.probe('checkpoint', 'cat', name, version.sha256 ?? '')
    const [answer] = answersOf(call)
    if (call.code === 0 && hashOf(answer) === version.sha256) return null
    refusals.push(`planfold checkpoint cat ${name}: ${answer?.error?.message ?? `exit ${call.code}`}`)
  }
  return refusals.join('; ')
}

const isUnknownCommand = ({ code, out }: Call): boolean => code === 2 && out.includes("unknown command 'restore'")

const lists = ({ code, out }: Call, { path, sha256 }: Version): boolean =>
  code === 0 && out.includes(JSON.stringify(path)) && out.includes(`"${sha256}"`)

function hashOf(answer: Answer | undefined): string | null {
  const { text, base64 } = (answer?.data ?? {}) as { text?: string; base64?: string }
  const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
  return createHash('sha256').update(bytes).digest('hex')
}
