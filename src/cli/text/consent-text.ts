// What a gate puts before whoever decides, read from the stored bytes and nothing else: whoever approves sees what will be done.

import type { Shown, ShownChange, ShownGate, ShownTask, ShownWords } from '../../domain/gates/consent.ts'
import type { Sha256 } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import { IMPACT_WORDS } from '../../domain/plan-rules/impact.ts'
import type { Releases } from '../../domain/views/gate-releases.ts'
import type { Engine } from '../../engine/engine.ts'
import { nonAscii, quotedWord, visible, visibleLines } from '../../safety/text/terminal.ts'
import type { Context } from '../context.ts'
import type { Paint } from '../terminal/paint.ts'
import { patchOf } from '../terminal/patch.ts'
import { fitting } from '../terminal/table.ts'

// What somebody is asked to agree to, in words, made from the stored bytes and from nothing else. Every word of a command stands on a
// line of its own; text of others stands behind a bar, so that it cannot pass for ours; what is left out is counted, with the
// command that shows all of it. What the author of the plan says about it comes last, and is called that.

interface ConsentOptions {
  readonly paint: Paint
  /** Leave nothing out. */
  readonly all: boolean
  /** Stored bytes by their hash; null where there are none. */
  readonly content: (sha256: Sha256) => Promise<Uint8Array | null>
  /** What the gate holds back as the plan stands now; null when that is not known, as in a question of the past. */
  readonly releases?: Releases | null
}

/** So many lines of one text are shown when not all are asked for. */
const BLOCK_MAX = 40
const PATHS_MAX = 20

export async function consentWords(shown: Shown, options: ConsentOptions): Promise<readonly string[]> {
  const telling = { ...options, whole: `planfold show ${visible(shown.name)} ${visible(shown.task)} --all` }
  return shown.type === 'task' ? await taskWords(shown, telling) : await gateWords(shown, telling)
}

interface Telling extends ConsentOptions {
  /** The command that leaves nothing out. */
  readonly whole: string
}

async function gateWords(shown: ShownGate, options: Telling): Promise<readonly string[]> {
  const { tasks, leads, later, reviewed, words } = shown
  const { paint } = options
  const lines: string[] = []
  if (reviewed !== null) lines.push(...(await reviewWords(reviewed, options)))
  for (const { outcome, to } of leads ?? [])
    lines.push(`choosing ${visible(outcome)} starts ${listOf(to, 'nothing more')}`)
  const { releases = null } = options
  const waits = new Map(releases?.waits.map(each => [each.task, each.for]))
  // What was reviewed is shown once.
  const told = async (one: ShownTask): Promise<readonly string[]> => {
    const [first = '', ...rest] = await taskWords({ ...one, reviewed: null }, options)
    const others = waits.get(one.task)
    const also = others === undefined ? [] : [`  ${paint.yellow(alsoWaits(others))}`]
    return [first, ...also, ...rest].map(line => `  ${line}`)
  }
  const alone = tasks.filter(({ task }) => !waits.has(task))
  const held = tasks.filter(({ task }) => waits.has(task))
  if (alone.length > 0 && leads !== undefined) lines.push('depending on your choice, this runs:')
  else if (alone.length > 0)
    lines.push(`if you approve, ${alone.length === 1 ? 'this runs' : `these ${alone.length} tasks run`}:`)
  for (const one of alone) lines.push(...(await told(one)))
  if (held.length > 0)
    lines.push(
      `${alone.length === 0 ? 'if you approve, you agree' : 'you also agree'} to ${held.length === 1 ? 'this task' : `these ${held.length} tasks`}; ${held.length === 1 ? 'it does' : 'they do'} not start yet:`,
    )
  for (const one of held) lines.push(...(await told(one)))
  const shownWhole = new Set<string>([...tasks.map(({ task }) => task), ...later])
  lines.push(...otherwiseWords(shown, releases, shownWhole, paint))
  if (later.length > 0) lines.push(paint.dim(`needs an approval of its own later: ${later.map(visible).join(', ')}`))
  const isNothing = releases === null || (releases.begins.length === 0 && releases.waits.length === 0)
  if (tasks.length === 0 && later.length === 0 && reviewed === null && leads === undefined && isNothing)
    lines.push('no task starts directly after it')
  return [...lines, ...authorWords(words, paint)]
}

const NAMES_MAX = 20

const alsoWaits = (others: readonly string[]): string => `also waits for ${namesOf(others)}`

const namesOf = (names: readonly string[]): string => {
  const more = names.length - NAMES_MAX
  return `${names.slice(0, NAMES_MAX).map(visible).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** What stands behind the gate and is not shown as it would be done: it is named, with what else it waits for. */
function otherwiseWords(
  { gate }: ShownGate,
  releases: Releases | null,
  shownWhole: ReadonlySet<string>,
  paint: Paint,
): readonly string[] {
  if (releases === null) return []
  const begins = releases.begins.filter(task => !shownWhole.has(task))
  const waits = releases.waits.filter(({ task }) => !shownWhole.has(task))
  const verb = gate === 'question' ? 'your answer starts' : gate === 'decision' ? 'any choice starts' : 'it starts'
  const more = releases.more > 0 ? [`and ${releases.more} more tasks after it`] : []
  return [
    ...(begins.length === 0 ? [] : [`${verb}: ${namesOf(begins)}`]),
    ...waits.slice(0, NAMES_MAX).map(each => `${visible(each.task)} ${alsoWaits(each.for)}`),
    ...(waits.length > NAMES_MAX ? [`… and ${waits.length - NAMES_MAX} more wait for others as well`] : []),
    ...more,
  ].map(line => paint.dim(line))
}

async function taskWords(shown: ShownTask, options: Telling): Promise<readonly string[]> {
  const { paint } = options
  const { task, visit, impact, effect, does, program, cwd, inputs, values, env, files, remotes, words } = shown
  const about = [`run ${visit}`, `effect ${effect}`, ...(impact === null ? [] : [paint.red(IMPACT_WORDS[impact])])]
  const field = (label: string, text: string): string => `  ${paint.dim(label.padEnd(9))} ${text}`
  const block = (text: string): readonly string[] => blockOf(visibleLines(text), options)
  const lines: string[] = [`${paint.bold(visible(task))} (${about.join(', ')})`]
  if (shown.open !== null)
    lines.push(
      paint.yellow(`  not all of it is known yet (${visible(shown.open)}); you are asked again when it is. So far:`),
    )
  switch (does.type) {
    case 'argv':
      lines.push(`  runs ${does.argv.length === 1 ? 'this word' : `these ${does.argv.length} words`}, without a shell:`)
      lines.push(...does.argv.map((word, at) => `    ${paint.dim(`[${at}]`)} ${wordOf(word, paint)}`))
      break
    case 'script':
      lines.push('  runs this script with sh -eu:', ...block(does.script))
      break
    case 'edit':
      lines.push('  changes files like this:', ...block(does.diff))
      break
    case 'git':
      lines.push(field('git', visible(JSON.stringify(does.git))))
      break
    case 'external':
      lines.push('  is done by the agent or person that claims it')
      if (does.instruction !== null) lines.push('  instruction:', ...block(does.instruction))
      break
    default:
      does satisfies never
  }
  if ('stdin' in does && does.stdin !== null) lines.push('  and is given as standard input:', ...block(does.stdin))
  for (const [label, value] of Object.entries(values))
    lines.push(field('value', `${visible(label)} = ${wordOf(value, paint)}`))
  for (const [label, value] of Object.entries(inputs))
    lines.push(field('input', `${visible(label)} = ${visible(JSON.stringify(value))}`))
  if (Object.keys(env).length > 0)
    lines.push(
      field('env', `${Object.keys(env).map(visible).join(', ')} ${paint.dim('(values are bound, not shown)')}`),
    )
  if (shown.feedback !== null) lines.push('  with the requested changes:', ...block(shown.feedback))
  lines.push(field('in', visible(cwd)))
  if (program !== null) lines.push(field('program', visible(program)))
  for (const file of files) {
    lines.push(
      field(
        'file',
        `${visible(file.path)} ${paint.dim(`sha256 ${file.sha256.slice(0, 12)}, ${numberOf(file.bytes, 'byte')}`)}`,
      ),
    )
    if (options.all && does.type !== 'edit') lines.push(...(await contentWords(file.sha256, options)))
  }
  if (files.length > 0 && does.type !== 'edit' && !options.all)
    lines.push(paint.dim(`            their content: ${options.whole}`))
  for (const [remote, url] of Object.entries(remotes))
    lines.push(field('remote', `${visible(remote)} = ${visible(url)}`))
  for (const [ref, commit] of Object.entries(shown.push?.commits ?? {}))
    lines.push(field('pushes', `${visible(ref)} = ${visible(commit)}`))
  for (const [key, value] of Object.entries(shown.push?.config ?? {}))
    lines.push(field('git', `${visible(key)} = ${visible(value)}`))
  const hook = shown.push?.hook ?? null
  if (hook !== null)
    lines.push(
      field(
        'hook',
        `${visible(hook.path)} ${paint.dim(`sha256 ${hook.sha256.slice(0, 12)}, ${numberOf(hook.bytes, 'byte')}`)}`,
      ),
    )
  lines.push(field('writes', writesOf(shown)))
  lines.push(field('network', networkOf(shown)))
  lines.push(field('hosts', listOf(shown.hosts, 'not declared')))
  lines.push(field('cost', visible(shown.cost)))
  for (const command of shown.besides) lines.push(field('also runs', visible(command)))
  if (shown.reviewed !== null) lines.push(...(await reviewWords(shown.reviewed, options)))
  return [...lines, ...authorWords(words, paint).map(line => `  ${line}`)]
}

/** What only reads says so by its effect; that is the author's word, as a list would be. */
function writesOf({ write, effect }: ShownTask): string {
  if (effect === 'pure' && (write ?? []).length === 0) return 'nothing (declared read-only)'
  return write === null ? 'not declared (can write anywhere)' : listOf(write, 'nothing')
}

/** We carry out edits and git actions ourselves, and neither reaches out. */
function networkOf({ network, does }: ShownTask): string {
  if (does.type === 'edit' || does.type === 'git') return 'none'
  return network === null ? 'not declared (can reach anything)' : listOf(network, 'none')
}

const listOf = (words: readonly string[], none: string): string =>
  words.length === 0 ? none : words.map(visible).join(', ')

function wordOf(word: string, paint: Paint): string {
  const strange = nonAscii(word)
  const note = strange.length === 0 ? '' : ` ${paint.yellow(`(contains ${strange.join(', ')})`)}`
  return `${quotedWord(word)}${note}`
}

/** Everything the plan has written so far, as the lines that differ. */
async function reviewWords(reviewed: readonly ShownChange[], options: Telling): Promise<readonly string[]> {
  const changes = reviewed.filter(({ before, now }) => before !== now)
  const told = options.all ? changes : changes.slice(0, PATHS_MAX)
  const lines = [
    changes.length === 0
      ? 'the plan changed no files'
      : `changed by the plan so far, ${numberOf(changes.length, 'path')}:`,
  ]
  for (const change of told) {
    lines.push(`  ${visible(change.path)} ${options.paint.dim(hashesOf(change))}`)
    lines.push(...blockOf(await patchWords(change, options), options))
  }
  if (told.length < changes.length) lines.push(`  … and ${changes.length - told.length} more paths: ${options.whole}`)
  return lines
}

const hashesOf = ({ before, now }: ShownChange): string =>
  `${before === null ? 'nothing' : before.slice(0, 12)} → ${now === null ? 'nothing' : now.slice(0, 12)}`

async function patchWords({ before, now }: ShownChange, { content }: ConsentOptions): Promise<readonly string[]> {
  const [a, b] = [await contentOf(before, content), await contentOf(now, content)]
  if (a === null || b === null) return ['(too large to store, or not a file: only its hash is known)']
  const patch = patchOf(a, b)
  return patch.type === 'text' ? patch.lines.flatMap(line => visibleLines(line)) : [`(${patch.why})`]
}

async function contentOf(hash: string | null, content: ConsentOptions['content']): Promise<Uint8Array | null> {
  if (hash === null) return new Uint8Array()
  return /^[0-9a-f]{64}$/.test(hash) ? await content(hash as Sha256) : null
}

async function contentWords(hash: Sha256, { content, paint }: ConsentOptions): Promise<readonly string[]> {
  const bytes = await content(hash)
  if (bytes === null) return [paint.dim('    (not stored: outside the workspace, or too large)')]
  const text = Buffer.from(bytes)
  if (text.includes(0)) return [paint.dim('    (not text)')]
  return visibleLines(text.toString('utf8')).map(line => `    ${paint.dim('│')} ${line}`)
}

function blockOf(lines: readonly string[], { all, paint, whole }: Telling): readonly string[] {
  const told = all ? lines : lines.slice(0, BLOCK_MAX)
  const left = lines.length - told.length
  return [
    ...told.map(line => `    ${paint.dim('│')} ${line}`),
    ...(left === 0 ? [] : [`    … ${numberOf(left, 'more line')}: ${whole}`]),
  ]
}

/** Below everything else, because nobody has checked it. */
function authorWords({ title, description, rationale, risks = [] }: ShownWords, paint: Paint): readonly string[] {
  const said = [
    ...(title === undefined ? [] : [title]),
    ...(description === undefined ? [] : [description]),
    ...(rationale === undefined ? [] : [rationale]),
    ...risks.map(risk => `risk: ${risk}`),
  ]
  if (said.length === 0) return []
  return [
    paint.dim("from the plan's author (not verified):"),
    ...said.flatMap(text => visibleLines(text)).map(line => `  ${paint.dim('│')} ${line}`),
  ]
}

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
