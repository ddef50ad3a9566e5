// How an attempt starts its agent: program, arguments, environment and files; with our gateway, or with a copy of the user's
// login.

import { join } from 'node:path'
import type { AgentRequest } from '../../domain/plan-rules/agent-request.ts'
import type { Failure } from '../../domain/result.ts'
import { failure } from '../../safety/safety-refusal.ts'
import type { PlanToolsServer } from './agent-runner.ts'
import type { AgentRow } from './agent-settings.ts'
import type { FoundProgram } from './find-agent.ts'

export interface Chosen {
  readonly name: string
  readonly request: AgentRequest
  readonly row: AgentRow
  readonly protocol: 'acp' | 'headless'
  readonly found: FoundProgram
}

/** The home as seen inside the sandbox: see `safety/sandbox/bubblewrap.ts`. */
export function homeSeen(home: string | undefined, root: string): string {
  const isUsable = home?.startsWith('/') && home !== '/' && home !== root && !home.startsWith(`${root}/`)
  return isUsable ? home! : '/tmp/home'
}

/** `provider/name` selects the provider; the agent gets the name. */
export function modelOf(
  { model }: Omit<AgentRequest, 'answer'>,
  row: AgentRow,
): { readonly use: string | null; readonly name: string } | Failure {
  const at = model?.indexOf('/') ?? -1
  if (model !== null) return at < 0 ? { use: null, name: model } : { use: model, name: model.slice(at + 1) }
  if (row.model !== null) return { use: null, name: row.model }
  if (row.wire === null) return { use: null, name: '' }
  return failure(
    'logic',
    `${row.title} has no model of its own`,
    `name one: agent: { use: ${row.name}, model: PROVIDER/NAME }`,
  )
}

/** The agent with the user's login: without our gateway, and without a model unless the plan names one. */
export function withLogin(row: AgentRow, request: Omit<AgentRequest, 'answer'>): AgentRow | Failure {
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
  { row, protocol, found }: Chosen,
  values: { readonly session: string },
  brief: (isResumed: boolean) => string,
): { readonly argv: readonly string[]; readonly stdin: string | undefined } {
  // The plan's words are passed on verbatim.
  const words = (command: readonly string[], put: { readonly [name: string]: string }): readonly string[] =>
    row.from === 'plan' ? command.slice(1) : command.slice(1).map(word => filled(word, put))
  if (protocol === 'acp') return { argv: [found.program, ...words(row.acp!.command, values)], stdin: undefined }
  const { command, resume, setup } = row.headless!
  const isResumed = resume !== undefined && values.session !== ''
  const prompt = brief(isResumed)
  const filledValues = { ...values, prompt }
  const used = isResumed ? resume : command
  const argv = [found.program, ...words(used, filledValues)]
  const stdin = row.from === 'plan' || !used.some(word => word.includes('{prompt}')) ? `${prompt}\n` : undefined
  if (setup === undefined || isResumed) return { argv, stdin }
  const before = [found.program, ...words(setup, filledValues)]
  return {
    argv: ['/bin/sh', '-c', `${before.map(quoted).join(' ')} </dev/null >/dev/null && exec "$@"`, 'sh', ...argv],
    stdin,
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Never the agent's own planning mode, also if it may only read: that would keep it from submitting a plan. */
export const modeOf = ({ acp }: AgentRow, isBoxed: boolean): string | null =>
  (isBoxed ? acp?.boxed_mode : undefined) ?? acp?.mode ?? null

/** Port of the plan tools on the loopback interface of the sandbox. */
export const PLAN_PORT = 3131

/** The plan tools as an MCP server that the agent starts: a pipe to our socket that sends the token first. */
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

/** Fills placeholders. The result may be part of a JSON string, so values must not need escaping. */
export function filled(text: string, values: { readonly [name: string]: string }): string {
  return text.replace(/\{(url|token|model|root|home|prompt|session)\}/g, (whole, name: string) => values[name] ?? whole)
}

export const mapValues = (texts: { readonly [name: string]: string }, change: (text: string) => string) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, change(text)]))
