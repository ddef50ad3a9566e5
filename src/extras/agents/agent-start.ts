// How one attempt starts its agent: which program with which arguments, environment and files; with our gateway, or with a login that the
// person lends it.

import { join } from 'node:path'
import type { AgentRequest } from '../../domain/plan-rules/agent-request.ts'
import type { Failure } from '../../domain/result.ts'
import { failure } from '../../safety/safety-refusal.ts'
import type { PlanToolsServer } from './agent-runner.ts'
import type { AgentRow } from './agent-settings.ts'
import type { FoundRoad } from './find-agent.ts'

export interface Chosen {
  readonly name: string
  readonly request: AgentRequest
  readonly row: AgentRow
  readonly road: 'acp' | 'headless'
  readonly found: FoundRoad
}

/** The home as it is seen inside: see `safety/sandbox/bubblewrap.ts`. */
export function homeSeen(home: string | undefined, root: string): string {
  const isUsable = home?.startsWith('/') && home !== '/' && home !== root && !home.startsWith(`${root}/`)
  return isUsable ? home! : '/tmp/home'
}

/** `provider/name` says which provider is asked; the agent is told the name. */
export function modelOf(
  { model }: AgentRequest,
  row: AgentRow,
): { readonly use: string | null; readonly name: string } | Failure {
  const at = model?.indexOf('/') ?? -1
  if (model !== null) return at < 0 ? { use: null, name: model } : { use: model, name: model.slice(at + 1) }
  if (row.model !== null) return { use: null, name: row.model }
  // It may need no model.
  if (row.wire === null) return { use: null, name: '' }
  return failure(
    'logic',
    `${row.title} has no model of its own`,
    `name one: agent: { use: ${row.name}, model: PROVIDER/NAME }`,
  )
}

/** The agent with a login of the person's: nothing of our gateway is left in it, and no model is named unless the plan names one. */
export function withLogin(row: AgentRow, request: AgentRequest): AgentRow | Failure {
  const { login, acp, headless } = row
  if (login === null) return failure('logic', `${row.title} cannot be started with a login`, 'take it back')
  const isNamed = request.model !== null
  const keeps = (text: string): boolean => isNamed || !text.includes('{model}')
  const lines = (text: string): string => text.split('\n').filter(keeps).join('\n')
  const words = (argv: readonly string[]): readonly string[] =>
    argv.filter((word, at) => keeps(word) && !(word === '-m' && !keeps(argv[at + 1] ?? '')))
  const rest = { files: {} }
  return {
    ...row,
    model: '',
    env: Object.fromEntries(
      Object.entries(row.env).filter(([, text]) => keeps(text) && !text.includes('{url}') && !text.includes('{token}')),
    ),
    files: mapValues({ ...row.files, ...login.settings }, lines),
    ...(acp === undefined ? {} : { acp: { ...acp, ...rest, command: words(acp.command) } }),
    ...(headless === undefined
      ? {}
      : {
          headless: {
            ...headless,
            ...rest,
            command: words(headless.command),
            ...(headless.resume === undefined ? {} : { resume: words(headless.resume) }),
          },
        }),
  }
}

export function startOf(
  { row, road, found }: Chosen,
  values: { readonly session: string },
  brief: (isResumed: boolean) => string,
): { readonly argv: readonly string[]; readonly stdin: string | undefined } {
  // What a plan writes is passed on as it is.
  const words = (command: readonly string[], put: { readonly [name: string]: string }): readonly string[] =>
    row.from === 'plan' ? command.slice(1) : command.slice(1).map(word => filled(word, put))
  if (road === 'acp') return { argv: [found.program, ...words(row.acp!.command, values)], stdin: undefined }
  const { command, resume, setup } = row.headless!
  const isResumed = resume !== undefined && values.session !== ''
  const prompt = brief(isResumed)
  const told = { ...values, prompt }
  const used = isResumed ? resume : command
  const argv = [found.program, ...words(used, told)]
  const stdin = row.from === 'plan' || !used.some(word => word.includes('{prompt}')) ? `${prompt}\n` : undefined
  if (setup === undefined || isResumed) return { argv, stdin }
  const before = [found.program, ...words(setup, told)]
  return {
    argv: ['/bin/sh', '-c', `${before.map(quoted).join(' ')} </dev/null >/dev/null && exec "$@"`, 'sh', ...argv],
    stdin,
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Where it can write nothing, it need not be told to: its own modes for planning keep it from submitting a plan. */
export const modeOf = ({ acp }: AgentRow, isBoxed: boolean): string | null =>
  (isBoxed ? acp?.boxed_mode : undefined) ?? acp?.mode ?? null

/** Where the plan tools are found on the loopback of the sandbox. */
export const PLAN_PORT = 3131

/** The tools of the plan, as a server that the agent starts: a pipe to our socket, which says the token first. */
export function planServer({ token, socket }: PlanToolsServer, isBoxed: boolean, folder: string) {
  const target = isBoxed ? { host: '127.0.0.1', port: PLAN_PORT } : { path: join(folder, socket) }
  return {
    name: 'planfold',
    command: process.execPath,
    args: ['-e', PIPE, JSON.stringify(target)],
    env: [{ name: 'PLANFOLD_PLAN_TOKEN', value: token }],
  }
}

const PIPE = `const s=require('net').connect(JSON.parse(process.argv[1]));s.on('error',()=>process.exit(1));s.on('close',()=>process.exit(0));s.write(process.env.PLANFOLD_PLAN_TOKEN+'\\n');process.stdin.pipe(s);s.pipe(process.stdout)`

/** A text of a row with everything put in; what stands in quotes of JSON must not need escaping, so values are plain words. */
export function filled(text: string, values: { readonly [name: string]: string }): string {
  return text.replace(/\{(url|token|model|root|home|prompt|session)\}/g, (whole, name: string) => values[name] ?? whole)
}

export const mapValues = (texts: { readonly [name: string]: string }, change: (text: string) => string) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, change(text)]))
