// The MCP inspector, call by call: it starts `planfold mcp` anew for each and talks to it over stdio.

import type { Tools } from './pinned-tools.ts'

export const ERAS = ['legacy', 'modern'] as const
export type Era = (typeof ERAS)[number]

export interface Call {
  readonly name: string
  readonly argv: readonly string[]
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
    holds: ['- [x] first (completed)', '- [ ] second (ready)'],
  },
  {
    name: 'resources/read',
    argv: ['--method', 'resources/read', '--uri', 'planfold://plan'],
    holds: ['running, 1 of 2 done'],
  },
  { name: 'prompts/get', argv: ['--method', 'prompts/get', '--prompt-name', 'next'], holds: ['- [ ] second (ready)'] },
]

export interface Inspected {
  readonly call: string
  readonly era: Era
  /** Null: as it should be. */
  readonly fault: string | null
}

/** `server` is the command to start, `home` a folder without a plan. */
export async function inspect(
  tools: Tools,
  server: readonly string[],
  era: Era,
  home: string,
): Promise<readonly Inspected[]> {
  const done: Inspected[] = []
  for (const { name, argv, holds } of CALLS) {
    const { exit, stdout, stderr } = await tools.inspector(
      ['--cli', '--format', 'json', '--cwd', home, '--protocol-era', era, ...server, ...argv],
      home,
    )
    const missing = holds.filter(text => !stdout.includes(text))
    const fault =
      exit !== 0
        ? `ended with ${exit}: ${stderr.trim()}`
        : missing.length > 0
          ? `does not say ${missing.join(', ')}: ${stdout.trim()}`
          : null
    done.push({ call: name, era, fault })
  }
  return done
}
