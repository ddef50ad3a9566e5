// What a gate puts before whoever decides, read from the stored bytes and nothing else: whoever approves sees what will be done.

import type { Shown } from '../domain/consent.ts'
import type { Sha256 } from '../domain/id.ts'
import type { Releases } from '../domain/views/releases.ts'
import type { Engine } from '../engine/engine.ts'
import { visible } from '../safety/visible.ts'
import { consentWords } from './consent-words.ts'
import type { Context } from './context.ts'
import { fitting } from './width.ts'

/** Empty when nothing was stored. `all`: without leaving anything out; `short`: but the ends of lines without end. */
export async function consentLines(
  { paint }: Pick<Context, 'paint'>,
  engine: Pick<Engine, 'ask'>,
  { shown, releases = null }: { readonly shown?: Sha256 | null; readonly releases?: Releases | null },
  { all = false, short = !all }: { readonly all?: boolean; readonly short?: boolean } = {},
): Promise<readonly string[]> {
  if (shown === null || shown === undefined) return []
  const content = async (sha256: Sha256) => await engine.ask({ type: 'blob', sha256 })
  const bytes = await content(shown)
  if (bytes === null) return [paint.red(`what it asks about is gone from the store (${shown.slice(0, 12)})`)]
  const told = JSON.parse(Buffer.from(bytes).toString('utf8')) as Shown
  const lines = await consentWords(told, { paint, all, content, releases })
  const whole = `planfold show ${visible(told.name)} ${visible(told.task)} --all`
  return [...(short ? lines.map(line => shortened(line, whole)) : lines), paint.dim(`hash ${shown.slice(0, 12)}`)]
}

const LINE_MAX = 2_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours; those of others were made visible.
const CUT_COLOUR = /\x1b\[?[0-9;]*$/

/** What is left out is counted, with the command that shows it. */
function shortened(line: string, whole: string): string {
  if (line.length <= LINE_MAX) return line
  const kept = line
    .slice(0, LINE_MAX)
    .replace(CUT_COLOUR, '')
    .replace(/[\ud800-\udbff]$/, '')
  return `${kept}${line.includes('\x1b') ? '\x1b[0m' : ''}… ${line.length - kept.length} more characters: ${whole}`
}

const ON = '  ↪ '

/** No line longer than this, and nothing cut off: a long one goes on in the next, after a space where there is one late enough. */
export function wrapped(lines: readonly string[], columns: number): readonly string[] {
  const room = Math.max(20, columns)
  return lines.flatMap(line => {
    const parts: string[] = []
    for (let rest = line, isFirst = true; ; isFirst = false) {
      const space = isFirst ? room : room - ON.length
      let part = fitting(rest, space)
      const gap = part.lastIndexOf(' ') + 1
      if (part.length < rest.length && gap > part.length / 2) part = part.slice(0, gap)
      parts.push(isFirst ? part : `${ON}${part}`)
      rest = rest.slice(part.length)
      if (rest === '') return parts
    }
  })
}
