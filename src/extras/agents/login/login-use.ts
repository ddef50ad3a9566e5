// An attempt with the user's login: asks first if a budget cannot be enforced, copies the login in and out, and records usage as
// the agent reports it. Its model calls bypass our gateway.

import { join } from 'node:path'
import type { AgentLogin } from '../../../domain/plan-rules/agent-request.ts'
import type { Outcome, RunnerTools, Stop } from '../../../runners/runner.ts'
import type { AgentHome } from '../agent-home.ts'
import { reportedWords, UseListener } from '../reported-use.ts'
import { copyLoginIn, removeLogin } from './copied-login.ts'

export interface LoginUse {
  readonly secrets: readonly string[]
  readonly used: UseListener
  /** Call when no process of the agent is alive; idempotent. */
  close(): Promise<void>
}

export async function openLogin(
  { files }: AgentLogin,
  home: AgentHome,
  tools: RunnerTools,
  stop: Stop,
): Promise<{ readonly use: LoginUse } | { readonly outcome: Outcome }> {
  const note = (text: string): void => tools.log('engine', Buffer.from(`${text}\n`))
  // The usage is unknown in advance: with a budget, a person is asked, as for a model without a known price.
  const reserved = await tools.budget?.reserve({ cost: null }, { wait: 'others', signal: stop.signal })
  if (reserved?.ok === false)
    return {
      outcome:
        reserved.why === 'refused'
          ? { type: 'failed', failure: reserved.failure, begun: false }
          : { type: 'interrupted', begun: false, reason: reserved.failure.message },
    }
  const place = {
    files,
    own: tools.environment.HOME,
    home: home.folder,
    record: join(home.beside, 'login.json'),
    root: tools.root,
    stateDir: tools.stateDir,
  }
  const copied = await copyLoginIn(place, note)
  if (!copied.ok) {
    if (reserved !== undefined) await tools.budget?.settle(reserved.id, {})
    return { outcome: { type: 'failed', failure: copied.failure, begun: false } }
  }
  note(`it uses your login (${files.map(file => `~/${file}`).join(', ')}); what it uses is not counted here`)
  const used = new UseListener()
  let isClosed = false
  return {
    use: {
      secrets: copied.value.secrets,
      used,
      async close() {
        if (isClosed) return
        isClosed = true
        await removeLogin(place, note)
        const { use } = used
        note(reportedWords(use))
        if (reserved === undefined) return
        const tokens = (use?.inputTokens ?? 0) + (use?.outputTokens ?? 0)
        await tools.budget?.settle(reserved.id, {
          calls: 1,
          cost: use?.cost ?? null,
          ...(tokens === 0 ? {} : { tokens }),
        })
      },
    },
  }
}
