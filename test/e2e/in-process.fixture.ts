// The same as `planfold.fixture.ts` without a process for each command: the words go through the grammar of the command line, and what it
// says is collected. For tests of many commands that need no process of their own; `start` starts one all the same.

import type { Context } from '../../src/cli/context.ts'
import { openState } from '../../src/cli/open-state.ts'
import { storeOf } from '../../src/cli/process.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { complain } from '../../src/cli/report-error.ts'
import { paint } from '../../src/cli/terminal/paint.ts'
import { VERSION } from '../../src/cli/version.ts'
import { extraCommands } from '../../src/extras.ts'
import { environmentIn, jsonBy, type Place, place as processPlace, type Said } from './planfold.fixture.ts'

const EXTRAS = await extraCommands()

type Stream = 'stdout' | 'stderr'

export async function place(more: { readonly [name: string]: string } = {}): Promise<Place> {
  const here = await processPlace(more)
  const planfold = planfoldIn(here.folder, environmentIn(here.folder, more))
  return { ...here, planfold, json: jsonBy(planfold) }
}

/** The command line in a folder that is there already. */
export function planfoldIn(folder: string, environment: Context['environment']): Place['planfold'] {
  return async (...argv) => {
    const said = { stdout: '', stderr: '' }
    const exit = await commandLine({ cwd: folder, environment }, argv, (stream, text) => {
      said[stream] += text
    })
    return { exit, ...said } satisfies Said
  }
}

/** Runs one command to its end, and answers with its exit code. */
export async function commandLine(
  { cwd, environment }: Pick<Context, 'cwd' | 'environment'>,
  argv: readonly string[],
  hear: (stream: Stream, text: string) => void,
): Promise<number> {
  const say = (stream: Stream, text: string | Uint8Array): void =>
    hear(stream, typeof text === 'string' ? text : Buffer.from(text).toString('utf8'))
  const contextOf = (options: { readonly [name: string]: unknown }): Context => {
    let opened: string | null = null
    return {
      stdout: { write: text => say('stdout', text) },
      stderr: { write: text => say('stderr', text) },
      terminal: null,
      cwd,
      environment,
      now: Date.now,
      paint: paint(false),
      settings: {
        json: options.json === true,
        quiet: options.quiet === true,
        color: false,
        ...storeOf(options, cwd),
        ...(typeof options.as === 'string' ? { as: options.as } : {}),
      },
      onSignal: () => () => {},
      hangup: new AbortController().signal,
      stdin: async function* () {},
      openState: async wanted => {
        const composed = await openState(wanted)
        opened = composed.stateDir
        return composed
      },
      get opened() {
        return opened
      },
    }
  }
  let exit = 0
  let context: Context | null = null
  const program = buildProgram(VERSION, EXTRAS, async body => {
    context = contextOf(program.opts())
    exit = await body(context)
  })
  const quieten = (command: typeof program): void => {
    command.configureOutput({ writeErr: () => {}, writeOut: text => say('stdout', text) })
    for (const part of command.commands) quieten(part)
  }
  quieten(program)
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    exit = await complain(context ?? contextOf({ json: argv.includes('--json') }), error)
  }
  return exit
}
