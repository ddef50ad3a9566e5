// How somebody who is told is called in the journal: by host or program, never by the whole address, since addresses of webhooks are
// often secrets themselves. A few digits tell two of them apart.

import { createHash } from 'node:crypto'
import type { Notify } from '../domain/plan.ts'

const NAME_MAX = 60

export function labelOf(send: Notify['send']): string {
  const mark = createHash('sha256').update(JSON.stringify(send)).digest('hex').slice(0, 6)
  if ('webhook' in send) {
    const host = URL.canParse(send.webhook) ? new URL(send.webhook).host : 'no address'
    return `webhook ${host} #${mark}`
  }
  const name = 'argv' in send.command ? (send.command.argv[0] ?? '').split('/').at(-1)! : 'script'
  return `command ${name.slice(0, NAME_MAX)} #${mark}`
}
