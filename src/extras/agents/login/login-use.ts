// One attempt with a login that the person lends: asked about where a budget could not be kept, lent, taken back, and its use told as the
// agent reports it. Nothing of it goes through our gateway.

import { join } from 'node:path'
import type { AgentLogin } from '../../../domain/plan-rules/agent-request.ts'
import type { Outcome, RunnerTools, Stop } from '../../../runners/runner.ts'
import type { AgentHome } from '../agent-home.ts'
import { reportedWords, UseListener } from '../reported-use.ts'
import { lendLogin, takeBackLogin } from './lent-login.ts'

export interface LoginUse {
  readonly secrets: readonly string[]
  readonly used: UseListener
  /** When no process of the agent lives any more; may be called again. */
  close(): Promise<void>
}

export async function openLogin(
  { files }: AgentLogin,
  home: AgentHome,
  tools: RunnerTools,
  stop: Stop,
): Promise<{ readonly use: LoginUse } | { readonly outcome: Outcome }> {
  const note = (text: string): void => tools.log('engine', Buffer.from(`${text}\n`))
  // Nobody can say what it will use: where there is a limit, a person is asked, as about a model whose price is not known.
  const held = await tools.budget?.reserve({ cost: null }, { wait: 'others', signal: stop.signal })
  if (held?.ok === false)
    return {
      outcome:
        held.why === 'refused'
          ? { type: 'failed', failure: held.failure, begun: false }
          : { type: 'interrupted', begun: false, reason: held.failure.message },
    }
  const place = {
    files,
    own: tools.environment.HOME,
    home: home.folder,
    record: join(home.beside, 'login.json'),
    root: tools.root,
    stateDir: tools.stateDir,
  }
  const lent = await lendLogin(place, note)
  if (!lent.ok) {
    if (held !== undefined) await tools.budget?.settle(held.id, {})
    return { outcome: { type: 'failed', failure: lent.failure, begun: false } }
  }
  note(`it uses your login (${files.map(file => `~/${file}`).join(', ')}); what it uses is not counted here`)
  const used = new UseListener()
  let isClosed = false
  return {
    use: {
      secrets: lent.value.secrets,
      used,
      async close() {
        if (isClosed) return
        isClosed = true
        await takeBackLogin(place, note)
        const { use } = used
        note(reportedWords(use))
        if (held === undefined) return
        const tokens = (use?.inputTokens ?? 0) + (use?.outputTokens ?? 0)
        await tools.budget?.settle(held.id, { calls: 1, cost: use?.cost ?? null, ...(tokens === 0 ? {} : { tokens }) })
      },
    },
  }
}
