// Opens the state for the local user, who may do everything. Their name is recorded with every entry.

import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'
import { BadConfiguration, type Composed, compose, locate } from '../compose.ts'
import { ACTOR_MAX, type Actor, isActor } from '../domain/id.ts'
import { agentCaller, type Caller, trusted } from '../engine/roles.ts'
import { programBehind } from '../safety/environment.ts'
import { findProgram, foreignFolders, helperPath } from '../safety/find-program.ts'
import type { OpenOptions } from './context.ts'

/** A command that only reads records no name. */
const READER = 'nobody'

export async function openState({ as, ...options }: OpenOptions): Promise<Composed> {
  const actor = givenActor(as, options.environment)
  const caller =
    options.reading === true ? trusted(READER) : actor === undefined ? await localCaller(options) : trusted(actor)
  const { serving, ...composing } = options
  return await compose({ ...composing, caller: callerBehind(options.environment, caller, serving === true) })
}

/** A command in the shell of a coding agent has the rights of an agent, and is not recorded as the user. */
function callerBehind(environment: Environment, caller: Caller, isServing: boolean): Caller {
  const program = programBehind(environment)
  if (program === null) return caller
  if (program === 'a coding agent' && !isServing) return { ...agentCaller(caller, caller.actor), inAgentShell: true }
  const { isPerson: _, ...rest } = caller
  return rest
}

/** The caller's name for commands that only read. */
export async function callerName({ as, ...options }: OpenOptions): Promise<Actor> {
  return givenActor(as, options.environment) ?? (await localCaller(options)).actor
}

/** `--as`, else `PLANFOLD_AS`. Refused before anything is opened. */
function givenActor(as: string | undefined, environment: Environment): Actor | undefined {
  const actor = as ?? environment.PLANFOLD_AS
  if (actor === undefined || isActor(actor)) return actor
  const from = as === undefined ? 'PLANFOLD_AS' : '--as'
  throw new BadConfiguration(
    `${JSON.stringify(actor)} (${from}) cannot be the name of who acts`,
    'write a name on one line, of at most 200 characters, without spaces around it or characters that cannot be seen',
  )
}

type Environment = OpenOptions['environment']

const VIA_AGENT = ' via an agent'

/** Git's user.email, else the user of the operating system. What is done in the shell of a coding agent is recorded as that. */
async function localCaller(options: Omit<OpenOptions, 'as'>): Promise<Caller> {
  const via = programBehind(options.environment) === 'a coding agent' ? VIA_AGENT : ''
  const names = [await gitEmail(rootOf(options), options.environment), osUser()]
  const actor = names
    .map(name => name?.slice(0, ACTOR_MAX - VIA_AGENT.length).trim())
    .find(name => name !== undefined && isActor(name))
  return trusted(`${actor ?? 'someone'}${via}`)
}

/** If the folder cannot be found, opening it will report that. */
function rootOf(options: Omit<OpenOptions, 'as'>): string | undefined {
  try {
    return locate(options).root
  } catch {
    return undefined
  }
}

async function gitEmail(root: string | undefined, environment: Environment): Promise<string | undefined> {
  try {
    // The folder may hold a program called `git`, and PATH may lead into it.
    const outside = foreignFolders(root ?? process.cwd(), environment.HOME)
    const PATH = helperPath(environment.PATH, outside)
    const git = findProgram('git', { path: PATH, outside, usual: 'no' })
    if (git === null) return undefined
    const env = { PATH, HOME: environment.HOME, GIT_CONFIG_NOSYSTEM: '1' }
    const { stdout } = await promisify(execFile)(git, ['config', '--get', 'user.email'], {
      cwd: root,
      env,
      timeout: 2_000,
    })
    return stdout.trim()
  } catch {
    return undefined
  }
}

function osUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}
