// `planfold agents allow AGENT --login|--no-login`: lets an agent use the user's own login. Says first what that means.

import { answer, type Context, declined, EXIT, notConfirmed, usage } from '../../../cli/command.ts'
import { done, personOf, placeOf } from '../../../cli/commands/policy/policy.ts'
import { confirm } from '../../../cli/terminal/confirm.ts'
import type { AgentLogin } from '../../../domain/plan-rules/agent-request.ts'
import { loginOf, setLogin } from '../login/agent-login.ts'

export interface AllowOptions {
  readonly login?: boolean
  readonly yes?: true
}

export async function allowLogin(context: Context, agent: string, { login, yes }: AllowOptions): Promise<number> {
  if (login === undefined) throw usage('allow what?', `planfold agents allow ${agent} --login, or --no-login`)
  const place = placeOf(context)
  const person = await personOf(context)
  if (login) await agree(context, agent, done(await loginOf(place, agent)), yes === true)
  const changed = done(await setLogin(place, { agent, isAllowed: login, person }))
  answer(context, { agent, login, changed }, () => {
    if (!login) return changed ? `${agent} gets no login of yours any more` : `${agent} had no login of yours`
    return changed
      ? `${agent} gets your login from its next attempt on. Take it back: planfold agents allow ${agent} --no-login`
      : `${agent} had your login already`
  })
  return EXIT.done
}

async function agree(context: Context, agent: string, login: AgentLogin, isSaid: boolean): Promise<void> {
  if (!context.settings.json) context.stderr.write(`${risk(agent, login).join('\n')}\n`)
  if (isSaid) return
  if (context.terminal === null || context.settings.json)
    throw notConfirmed('nothing was allowed: nobody is at a terminal to be asked', 'add --yes if you agree to this')
  if (!(await confirm(context, `Lend ${agent} your login?`))) throw declined('nothing was allowed')
}

const risk = (agent: string, { files, hosts }: AgentLogin): readonly string[] => [
  `In every task that starts ${agent}, in all your workspaces:`,
  `- it gets your real login, ${files.map(file => `~/${file}`).join(' and ')}, inside its sandbox. An agent that is misled can read it, also`,
  '  write it into files of the workspace. What it renews in these files is copied back to your home.',
  `- it reaches ${hosts.map(host => host.replace('https://', '')).join(', ')}; what it sends there nobody sees.`,
  '- its calls are not counted, capped or recorded by Planfold. Numbers are its own, and are shown as reported. A task with a limit of money,',
  '  tokens or calls asks first.',
  'Logins were not tested: that takes an account of each maker.',
]
