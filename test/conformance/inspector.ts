// The MCP inspector, call by call. Over stdio it starts `planfold mcp` anew for each; over HTTP it shows a token to the service.

import type { Tools } from './pinned-tools.ts'

export const ERAS = ['legacy', 'modern'] as const
export type Era = (typeof ERAS)[number]

export interface Call {
  readonly name: string
  readonly argv: readonly string[]
  /** The exit code of the inspector; 0 when absent. */
  readonly exit?: number
  /** The answer must hold all of these. */
  readonly holds: readonly string[]
}

const tool = (name: string, input: object): readonly string[] => [
  '--method',
  'tools/call',
  '--tool-name',
  name,
  '--tool-args-json',
  JSON.stringify(input),
]

const TASKS = [{ id: 'first' }, { id: 'second', needs: ['first'] }]

/** In this order, on one store. */
export const CALLS: readonly Call[] = [
  // `--strict` fails where a schema is one that other clients cannot take.
  { name: 'tools/list', argv: ['--method', 'tools/list', '--strict'], holds: ['"plan_read"', '"plan_write"'] },
  { name: 'resources/list', argv: ['--method', 'resources/list'], holds: ['planfold://plan', 'planfold://inbox'] },
  { name: 'prompts/list', argv: ['--method', 'prompts/list'], holds: ['"next"', '"digest"'] },
  {
    name: 'plan_write create',
    argv: tool('plan_write', { action: 'create', name: 'demo', tasks: TASKS, start: true }),
    holds: ['ok: plan demo created and started', '- [ ] first (ready)'],
  },
  { name: 'plan_read', argv: tool('plan_read', {}), holds: ['Ready to claim:', '- [ ] first (ready)'] },
  {
    name: 'plan_write status',
    argv: tool('plan_write', { action: 'status', task: 'first', status: 'done' }),
    holds: ['ok: first is done', 'ready now: second'],
  },
  {
    name: 'resources/read',
    argv: ['--method', 'resources/read', '--uri', 'planfold://plan'],
    holds: ['running, 1 of 2 done'],
  },
  { name: 'prompts/get', argv: ['--method', 'prompts/get', '--prompt-name', 'next'], holds: ['- [ ] second (ready)'] },
]

/** To a service that asks for tokens. */
export const WITHOUT_TOKEN: Call = {
  name: 'without a token',
  argv: ['--method', 'tools/list'],
  exit: 3,
  holds: ['auth_required'],
}

export const overStdio = (command: readonly string[], folder: string): readonly string[] => [
  '--cwd',
  folder,
  ...command,
]

export const overHttp = (url: string, token: string | null): readonly string[] => [
  '--stored-auth-only',
  '--server-url',
  url,
  ...(token === null ? [] : ['--header', `Authorization: Bearer ${token}`]),
]

/** What is wrong with the answer; null: nothing. */
export async function inspect(
  tools: Tools,
  server: readonly string[],
  { era, call, home }: { readonly era: Era; readonly call: Call; readonly home: string },
): Promise<string | null> {
  const argv = ['--cli', '--format', 'json', '--protocol-era', era, ...server, ...call.argv]
  const { exit, stdout, stderr } = await tools.inspector(argv, home)
  if (exit !== (call.exit ?? 0)) return `ended with ${exit}: ${stderr.trim()}`
  const missing = call.holds.filter(text => !(stdout + stderr).includes(text))
  return missing.length === 0 ? null : `does not say ${missing.join(', ')}: ${stdout.trim()}`
}
