// `planfold checkpoints cat PLAN SHA256`: bytes that were stored before something was written over, as they were. Raw into a
// file or a pipe; a terminal is shown text only, with control characters made visible.

import { isUtf8 } from 'node:buffer'
import { isSha256 } from '../../domain/id.ts'
import { numberOf } from '../../domain/number-of.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { meantPlan } from '../meant.ts'

export async function cat(context: Context, word: string, sha256: string): Promise<number> {
  if (!isSha256(sha256))
    throw usage(`'${sha256}' is no SHA-256`, 'write its 64 hexadecimal digits, as they were printed')
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, name } = await meantPlan(engine, word, { looking: true })
    const bytes = await engine.ask({ type: 'blob', sha256 })
    if (bytes === null)
      throw notFound(
        `nothing is stored under ${sha256}`,
        `planfold log ${name} names what was kept, and prune removes it`,
      )
    const text = isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : null
    if (context.settings.json) {
      const content = text === null ? { base64: Buffer.from(bytes).toString('base64') } : { text }
      answer(context, { plan, name, sha256, bytes: bytes.length, ...content }, () => [])
    } else if (context.terminal === null) context.stdout.write(bytes)
    else if (text === null || text.includes('\0'))
      throw usage(
        `it holds ${numberOf(bytes.length, 'byte')} that are no text`,
        `write them to a file: planfold checkpoints cat ${name} ${sha256} > FILE`,
      )
    else context.stdout.write(escapeForTerminal(text, { keepLines: true }))
    return EXIT.done
  })
}
