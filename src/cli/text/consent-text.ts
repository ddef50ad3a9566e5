// What a gate shows to the person who decides, for a terminal: the words of domain/views, with colours and commands.

import type { Shown } from '../../domain/gates/consent.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Releases } from '../../domain/views/gate-releases.ts'
import { consentText } from '../../domain/views/pages/consent-text.ts'
import type { Engine } from '../../engine/engine.ts'
import { readConsentContents } from '../../format/text/consent-contents.ts'
import { SAFE_TEXT, visible } from '../../safety/text/terminal.ts'
import type { Context } from '../context.ts'
import type { Paint } from '../terminal/paint.ts'
import { fitting } from '../terminal/table.ts'

interface ConsentOptions {
  readonly paint: Paint
  readonly all: boolean
  readonly content: (sha256: Sha256) => Promise<Uint8Array | null>
  /** What the gate holds back as the plan stands now; null when that is not known, as in a question of the past. */
  readonly releases?: Releases | null
}

export async function consentWords(
  shown: Shown,
  { paint, all, content, releases = null }: ConsentOptions,
): Promise<readonly string[]> {
  const contents = await readConsentContents(shown, content, { all })
  const lines = consentText(shown, { say: SAFE_TEXT, all, contents, whole: wholeOf(shown), releases })
  return lines.map(spans => spans.map(span => (typeof span === 'string' ? span : paint[span.tone](span.text))).join(''))
}

const wholeOf = ({ name, task }: Shown): string => `planfold show ${visible(name)} ${visible(task)} --all`

interface Bound {
  readonly asks: { readonly type: string }
  readonly shown?: Sha256 | null
  readonly releases?: Releases | null
}

/** The hash of what an approval agrees to; null when it is bound to none. A question about edits stores the edits instead. */
export const boundTo = ({ asks, shown = null }: Bound): Sha256 | null => (asks.type === 'edits' ? null : shown)

/** Empty when nothing was stored. `all`: without leaving anything out; `short`: but the ends of lines without end. */
export async function consentLines(
  { paint }: Pick<Context, 'paint'>,
  engine: Pick<Engine, 'ask'>,
  bound: Bound,
  { all = false, short = !all }: { readonly all?: boolean; readonly short?: boolean } = {},
): Promise<readonly string[]> {
  const shown = boundTo(bound)
  if (shown === null) return []
  const { releases = null } = bound
  const content = async (sha256: Sha256) => await engine.ask({ type: 'blob', sha256 })
  const bytes = await content(shown)
  if (bytes === null)
    return [paint.red(`the content of this request is missing from the store (${shown.slice(0, 12)})`)]
  const request = JSON.parse(Buffer.from(bytes).toString('utf8')) as Shown
  const lines = await consentWords(request, { paint, all, content, releases })
  const whole = wholeOf(request)
  return [...(short ? lines.map(line => shortened(line, whole)) : lines), paint.dim(`hash ${shown.slice(0, 12)}`)]
}

const LINE_MAX = 2_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours; those of others were made visible.
const CUT_COLOUR = /\x1b\[?[0-9;]*$/

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
