// `planfold inbox`: everything that waits for a person, in all plans, oldest first, each with an id and the commands that answer
// it.

import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { inboxLines } from '../inbox-words.ts'

export interface InboxOptions {
  readonly for?: string
}

export async function inbox(context: Context, options: InboxOptions): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { items: all, unreadable } = await engine.ask({ type: 'inbox' })
    // What has nobody's name on it is everybody's.
    const items = options.for === undefined ? all : all.filter(({ who }) => who === null || who === options.for)
    const { paint } = context
    answer(context, { items, unreadable }, () => [
      ...(items.length === 0 ? ['nothing waits for a person'] : []),
      ...items.flatMap((item, at) => [...(at === 0 ? [] : ['']), ...inboxLines(item, context.now(), paint)]),
      ...unreadable.map(
        ({ name, why }) => `${paint.red('✖')} ${escapeForTerminal(name)} cannot be read: ${escapeForTerminal(why)}`,
      ),
    ])
    if (items.length > 0) remark(context, "answer with the commands, or: planfold inbox answer ID ANSWER -m 'why'")
    return EXIT.done
  })
}
