// `planfold agents list|test`: which coding agents can be started here, with whose login, and whether one really works.

import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { agentsAt, compose, locate, openAgentModel } from '../../../compose.ts'
import { AGENT_LOGINS } from '../../../domain/plan-rules/agent-login.ts'
import type { AgentName } from '../../../domain/plan-rules/agent-request.ts'
import { trusted } from '../../../engine/roles.ts'
import { lentLogins } from '../../../operations/agents/agent-login.ts'
import { recordPass, withPasses } from '../../../operations/agents/passed-tests.ts'
import {
  type AgentTest,
  makeTestFolder,
  TEST_MODELS,
  TEST_SCRIPT,
  TEST_STEPS,
  testAgent,
} from '../../../operations/agents/test-agent.ts'
import type { KnownAgent } from '../../../runners/runner.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer } from '../../answer.ts'
import type { Context } from '../../context.ts'
import { CliError, EXIT } from '../../exit.ts'
import { table } from '../../terminal/table.ts'
import { placeOf } from '../policy/policy.ts'

const placeHere = ({ cwd, environment, settings }: Context) => ({
  environment,
  root: locate({ cwd, environment, dir: settings.dir }).root,
})

export async function listAgents(context: Context): Promise<number> {
  const lent = await lentLogins(placeOf(context))
  const place = placeHere(context)
  const agents = (await withPasses(place, await agentsAt(place))).map(({ passedAt, ...agent }) => ({
    ...agent,
    passedAt: passedAt === null ? null : new Date(passedAt).toISOString(),
    login: AGENT_LOGINS[agent.name] === undefined ? null : lent.includes(agent.name) ? 'lent' : 'possible',
  }))
  answer(context, { agents }, () => {
    const rows = agents.map(({ name, title, status, road, version, tested, install, login, passedAt }) => [
      name,
      title,
      status === 'missing' ? `not installed: npm install -g ${install}` : `${version ?? 'unknown version'} (${road})`,
      tested,
      passedAt === null ? '' : `passed ${passedAt.slice(0, 10)}`,
      login === 'lent' ? 'your login, not counted' : 'through Planfold, counted',
    ])
    return table(
      context.paint,
      ['agent', 'name', 'installed', 'tested with', 'your test', 'its model'],
      rows,
      context.terminal?.columns() ?? null,
    )
  })
  return EXIT.done
}

export async function tryAgent(context: Context, name: AgentName): Promise<number> {
  const place = placeHere(context)
  const found = (await agentsAt(place)).find(agent => agent.name === name)
  if (found === undefined || found.status === 'missing')
    throw new CliError(
      EXIT.failed,
      'agent:missing',
      `${found?.title ?? name} is not installed`,
      `npm install -g ${found?.install ?? name}; its program must be on PATH`,
    )
  const stop = new AbortController()
  const release = context.onSignal(() => stop.abort())
  try {
    const tested = await inFolder(context, root => tryIn(context, root, found, stop.signal))
    if (!tested.fits)
      throw new CliError(
        EXIT.failed,
        'agent:unfit',
        `${found.title} ${found.version ?? '(version unknown)'} does not fit: ${tested.why ?? 'the test does not pass'}`,
        tested.hint ?? `tested was version ${found.tested}; install that one`,
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
  const model = await openAgentModel(root, { [TEST_SCRIPT]: TEST_STEPS })
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
    return await testAgent({ engine, worker, monotonic: () => performance.now(), signal }, name, TEST_MODELS[wire])
  } finally {
    await composed.close()
    await model.close()
  }
}
