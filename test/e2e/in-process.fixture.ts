// The same as `planfold.fixture.ts` without a process for each command: the words go through the grammar of the command line, and what it
// says is collected. For tests of many commands that need no process of their own; `start` starts one all the same.

import type { Context } from '../../src/cli/context.ts'
import { openState } from '../../src/cli/open-state.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { complain } from '../../src/cli/report-error.ts'
import { paint } from '../../src/cli/terminal/paint.ts'
import { VERSION } from '../../src/cli/version.ts'
import { environmentIn, jsonBy, type Place, place as processPlace, type Said } from './planfold.fixture.ts'

export async function place(more: { readonly [name: string]: string } = {}): Promise<Place> {
  const here = await processPlace(more)
  const planfold = planfoldIn(here.folder, environmentIn(here.folder, more))
  return { ...here, planfold, json: jsonBy(planfold) }
}

/** The command in a folder, with this environment and no other. */
export function planfoldIn(
  cwd: string,
  environment: { readonly [name: string]: string | undefined },
): Place['planfold'] {
  return async (...argv) => {
    const said = { stdout: '', stderr: '' }
    const say = (stream: keyof typeof said, text: string | Uint8Array): void => {
      said[stream] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8')
    }
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
          ...(typeof options.dir === 'string' ? { dir: options.dir } : {}),
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
    const program = buildProgram(VERSION, async body => {
      exit = await body(contextOf(program.opts()))
    })
    const quieten = (command: typeof program): void => {
      command.configureOutput({ writeErr: () => {}, writeOut: text => say('stdout', text) })
      for (const part of command.commands) quieten(part)
    }
    quieten(program)
    try {
      await program.parseAsync([...argv], { from: 'user' })
    } catch (error) {
      exit = await complain(contextOf({ json: argv.includes('--json') }), error)
    }
    return { exit, ...said } satisfies Said
  }
}
