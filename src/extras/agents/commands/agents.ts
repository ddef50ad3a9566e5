// `planfold agents list|test`: which coding agents can be started here, with whose login, and whether one really works.

import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { answer, CliError, type Context, declined, EXIT, notConfirmed, printNote, usage } from '../../../cli/command.ts'
import { done, personOf, placeOf } from '../../../cli/commands/policy/policy.ts'
import { confirm } from '../../../cli/terminal/confirm.ts'
import { table } from '../../../cli/terminal/table.ts'
import { compose } from '../../../compose.ts'
import type { AgentLogin } from '../../../domain/plan-rules/agent-request.ts'
import { trusted } from '../../../engine/roles.ts'
import { installHint } from '../../../operations/agents/worker-request.ts'
import type { KnownAgent } from '../../../runners/runner.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { scriptedModel } from '../../../testing/scripted-model.ts'
import { agentScript } from '../agent-script.ts'
import { listAgents as listAgentsAt } from '../find-agent.ts'
import { knownAgents, unknownAgent } from '../known-agents.ts'
import { agentsWithLogin, loginOf, setLogin } from '../login/agent-login.ts'
import { recordPass, withPasses } from '../passed-tests.ts'
import { type AgentTest, makeTestFolder, TEST_SCRIPT, TEST_STEPS, testAgent, testModel } from '../test-agent.ts'

export async function listAgents(context: Context): Promise<number> {
  const place = placeOf(context)
  const lent = await agentsWithLogin(place)
  const { file, faults } = await knownAgents(place)
  const agents = (await withPasses(place, await listAgentsAt(place))).map(({ passedAt, hasLogin, ...agent }) => ({
    ...agent,
    passedAt: passedAt === null ? null : new Date(passedAt).toISOString(),
    login: !hasLogin ? null : lent.includes(agent.name) ? 'lent' : 'possible',
  }))
  for (const { message, hint } of faults)
    printNote(context, `${escapeForTerminal(message)} (${escapeForTerminal(hint)})`)
  answer(context, { agents, file, faults }, () => {
    const rows = agents.map(({ status, road, version, login, passedAt, ...agent }) => [
      agent.name,
      escapeForTerminal(agent.title),
      agent.from === 'user' ? 'you' : 'Planfold',
      status === 'missing'
        ? `not installed${agent.install === null ? '' : `: npm install -g ${escapeForTerminal(agent.install)}`}`
        : `${version ?? 'unknown version'} (${road})`,
      escapeForTerminal(agent.tested ?? ''),
      passedAt === null ? '' : `passed ${passedAt.slice(0, 10)}`,
      login === 'lent' ? 'your login, not counted' : 'through Planfold, counted',
    ])
    return table(
      context.paint,
      ['agent', 'name', 'from', 'installed', 'tested with', 'your test', 'its model'],
      rows,
      context.terminal?.columns() ?? null,
    )
  })
  return EXIT.done
}

export async function tryAgent(context: Context, name: string): Promise<number> {
  const place = placeOf(context)
  const found = (await listAgentsAt(place)).find(agent => agent.name === name)
  if (found === undefined) {
    const { message, hint } = unknownAgent(name, await knownAgents(place))
    throw usage(message, hint)
  }
  if (found.status === 'missing')
    throw new CliError(EXIT.failed, 'agent:missing', `${found.title} is not installed`, installHint(found))
  const stop = new AbortController()
  const release = context.onSignal(() => stop.abort())
  try {
    const tested = await inFolder(context, root => tryIn(context, root, found, stop.signal))
    if (!tested.fits)
      throw new CliError(
        EXIT.failed,
        'agent:unfit',
        `${found.title} ${found.version ?? '(version unknown)'} does not fit: ${tested.why ?? 'the test does not pass'}`,
        tested.hint ?? (found.tested === null ? undefined : `tested was version ${found.tested}; install that one`),
        [],
        { ...tested },
      )
    await recordPass(place, found, Date.now())
    answer(context, { ...tested, road: found.road, version: found.version }, () => {
      const { durationMs, calls, tokens } = tested
      const spent = calls === null ? '' : `, ${calls} calls and ${tokens} tokens by our count`
      return `${found.title} ${escapeForTerminal(found.version ?? '(version unknown)')} fits: it repaired the test in ${(durationMs / 1000).toFixed(1)} s (${found.road}${spent})`
    })
    return EXIT.done
  } finally {
    release()
  }
}

/** Not below /tmp: some agents take that for a place where everything is allowed. */
async function inFolder<T>({ environment }: Context, body: (root: string) => Promise<T>): Promise<T> {
  const cache = environment.XDG_CACHE_HOME ?? join(environment.HOME ?? '/var/tmp', '.cache')
  const folder = join(cache, 'planfold', `agent-${randomBytes(6).toString('hex')}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    const root = join(folder, 'work')
    makeTestFolder(root)
    return await body(root)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function tryIn(
  context: Context,
  root: string,
  { name, wire }: KnownAgent,
  signal: AbortSignal,
): Promise<AgentTest> {
  const model = await scriptedModel(agentScript({ root, scripts: { [TEST_SCRIPT]: TEST_STEPS } }))
  // Nothing of the person's own settings for models counts here.
  const environment = {
    ...context.environment,
    ...model.environment(),
    PLANFOLD_MODELS: '',
    PLANFOLD_MODEL: 'local/scripted',
  }
  const composed = await compose({ cwd: root, root, environment, caller: trusted('planfold') })
  try {
    const { engine, worker } = composed
    return await testAgent({ engine, worker, monotonic: () => performance.now(), signal }, name, testModel(wire))
  } finally {
    await composed.close()
    await model.close()
  }
}

// `planfold agents allow AGENT --login|--no-login`: lets an agent use the user's own login. Says first what that means.

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
