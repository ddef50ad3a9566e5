// `planfold inbox`: everything that waits for a person, in all plans, oldest first, each with an id and the commands that answer
// it.

import { isFor } from '../../domain/views/inbox.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { setBackLines } from '../edited-paths.ts'
import { EXIT } from '../exit.ts'
import { inboxLines } from '../inbox-words.ts'

export interface InboxOptions {
  readonly for?: string
}

export async function inbox(context: Context, options: InboxOptions): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const { items: all, restored, unreadable } = await engine.ask({ type: 'inbox' })
    const items = options.for === undefined ? all : all.filter(item => isFor(item, options.for!))
    const { paint } = context
    const { consentLines } = await import('../consent-lines.ts')
    const asked = await Promise.all(
      items.map(async item => (item.asks.type === 'edits' ? [] : await consentLines(context, engine, item))),
    )
    answer(context, { items, restored, unreadable }, () => [
      ...(items.length === 0 ? ['nothing waits for a person'] : []),
      ...items.flatMap((item, at) => [...(at === 0 ? [] : ['']), ...inboxLines(item, context.now(), paint, asked[at])]),
      ...[...new Set(restored.map(({ name }) => name))].flatMap(name =>
        setBackLines({ name, restored: restored.filter(one => one.name === name) }, paint),
      ),
      ...unreadable.map(
        ({ name, why }) => `${paint.red('✖')} ${escapeForTerminal(name)} cannot be read: ${escapeForTerminal(why)}`,
      ),
    ])
    if (items.length > 0) remark(context, "answer with the commands, or: planfold inbox answer ID ANSWER -m 'why'")
    return EXIT.done
  })
}
