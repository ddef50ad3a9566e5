// `run`: a command or a script with its inputs.

import { z } from 'zod'
import type { Action } from '../../domain/plan.ts'
import { command } from '../plan/schema-parts.ts'
import { type ActionFormat, keyed } from './action-format.ts'

type Run = Extract<Action, { readonly type: 'run' }>

export const RUN: ActionFormat<Run> = {
  ...keyed<Run>('run', {
    command: ['run', command],
    stdin: ['stdin', z.string().describe('Text for the standard input of run.')],
    links: ['links', z.literal('refuse').describe('The last word of run is a path without symbolic links.')],
  }),
  undo: ['run', 'stdin'],
  *rules(task, path) {
    if (task.links !== undefined && typeof task.run === 'string')
      yield {
        path: [...path, 'links'],
        message: "'links' is for a command with a path as its last word, and this 'run' is a script",
        hint: "write the command as a list: 'run: [cat, --, notes.txt]'",
      }
  },
  words: ({ command: line }, { code }) => `runs ${code('argv' in line ? line.argv.join(' ') : line.script)}`,
}
