// `planfold why FILE[:LINE]`: which task, person or commit stands behind the lines of a file.

import { resolve } from 'node:path'
import { locate, whyInClone } from '../../../compose.ts'
import { fileAndLine, whyLines } from '../../../domain/views/pages/why-lines.ts'
import type { AnswerOf } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, refused, usage, withState } from '../../command.ts'
import { dateAndTime } from '../../terminal/elapsed-time.ts'
import { hintText } from '../../text/hint-text.ts'
import { pathInside } from '../../text/path-text.ts'

export async function why(context: Context, word: string): Promise<number> {
  const { path: file, line } = fileAndLine(word)
  const askIn = (root: string) => {
    const path = pathInside(root, context.cwd, file)
    if (path === null) throw usage(`'${file}' is outside the workspace`, `name a path inside ${root}`)
    return { path, ...(line === undefined ? {} : { line }) }
  }
  const show = (found: AnswerOf<'why'>): number => {
    if (found?.ok !== true) throw refused(found!.refusal)
    const words = { text: escapeForTerminal, time: dateAndTime, hint: hintText }
    answer(context, found.why, () => [
      context.paint.bold(escapeForTerminal(found.why.path)),
      ...whyLines(found.why, words),
    ])
    return EXIT.done
  }
  try {
    return await withState(context, { create: false, reading: true }, async ({ engine, root }) =>
      show(await engine.ask({ type: 'why', ...askIn(root) })),
    )
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NoState') throw error
    const { environment, cwd, settings } = context
    const place = locate({ cwd, environment, dir: settings.dir })
    return show(await whyInClone({ ...place, environment }, askIn(resolve(place.root))))
  }
}
