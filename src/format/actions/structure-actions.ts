// Actions without work of their own: subplans, expanded tasks (`expand.ts`), the final checks, external tasks, and actions of
// later releases.

import { z } from 'zod'
import type { TaskName } from '../../domain/id.ts'
import { TASKS_MAX } from '../../domain/limits.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import { asWritten, codec } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import { type ActionFormat, keyed } from './action-format.ts'

type ActionOf<T extends Action['type']> = Extract<Action, { readonly type: T }>

/** A list of tasks. A plain string is an external task that follows the one before it. */
const steps = (task: z.ZodType<TaskDefinition>) =>
  codec(
    z
      .array(z.union([value.line, task]))
      .min(1)
      .max(TASKS_MAX),
    (written): readonly TaskDefinition[] =>
      written.map((step, index) => {
        if (typeof step !== 'string') return step
        const follows = index > 0 && typeof written[index - 1] === 'string'
        return {
          id: String(index + 1) as TaskName,
          title: step,
          action: { type: 'external' },
          ...(follows ? { needs: [String(index) as TaskName] } : {}),
        }
      }),
    list => list,
  ).meta({
    description: 'Tasks of its own; a line of prose is a step.',
    examples: [[{ id: 'build', run: 'npm run build' }]],
  })

export const SUBPLAN: ActionFormat<ActionOf<'subplan'>> = {
  keys: task => ({ subplan: steps(task) }),
  contents: {},
  read: ({ subplan }) => ({ type: 'subplan', tasks: subplan as readonly TaskDefinition[] }),
  print: ({ tasks }) => ({ subplan: tasks }),
}

export const RESEARCH: ActionFormat<ActionOf<'research'>> = keyed<ActionOf<'research'>>('research', {
  spec: ['research', asWritten(value.json)],
})

const unwritten = <T extends 'external' | 'verify' | 'group' | 'items'>(type: T) => ({
  keys: {},
  contents: {},
  read: () => ({ type }) as ActionOf<T>,
  print: () => ({}),
})

export const EXTERNAL: ActionFormat<ActionOf<'external'>> = {
  ...unwritten('external'),
  words: () => 'is done by an agent or a person',
}
export const VERIFY: ActionFormat<ActionOf<'verify'>> = {
  ...unwritten('verify'),
  words: () => 'judges the definition of done',
}
export const GROUP: ActionFormat<ActionOf<'group'>> = {
  ...unwritten('group'),
  words: () => 'waits for its children',
}
/** Its expression is a key of the surrounding task. */
export const ITEMS: ActionFormat<ActionOf<'items'>> = { ...unwritten('items'), contents: { for_each: 'expression' } }
