// What a person is asked to approve, as text rendered from the stored bytes only; the same in every face. Every word of a command is on its
// own line; foreign text is behind a bar, so that it cannot pass for ours; omissions are counted, with the way to see all. The words of the
// plan's author come last and are labelled.

import { type ActionType, actionFacts } from '../../actions/actions.ts'
import type { Shown, ShownAction, ShownChange, ShownGate, ShownTask, ShownWords } from '../../gates/consent.ts'
import type { Sha256 } from '../../id.ts'
import { numberOf } from '../../phrases.ts'
import type { GitAction } from '../../plan.ts'
import { IMPACT_WORDS } from '../../plan-rules/impact.ts'
import { networkWords } from '../../plan-rules/network.ts'
import type { Releases } from '../gate-releases.ts'
import { spelled } from './foreign-text.ts'

/** Spans of plain text and text that a face may highlight. */
export type ConsentLine = readonly ConsentSpan[]
export type ConsentSpan = string | { readonly tone: ConsentTone; readonly text: string }
export type ConsentTone = 'dim' | 'bold' | 'red' | 'yellow'

/** Escapes foreign text: no character may turn, hide or move the text around it. */
export interface SafeText {
  visible(text: string): string
  visibleLines(text: string): readonly string[]
  /** A word of a command, quoted if necessary. */
  quotedWord(text: string): string
  /** The distinct non-ASCII characters, by name. */
  nonAscii(text: string): readonly string[]
}

export type StoredText =
  | { readonly type: 'text'; readonly lines: readonly string[] }
  | { readonly type: 'none'; readonly why: string }

/** The contents beside the stored question; see `neededFor`. */
export interface ConsentContents {
  readonly patches: ReadonlyMap<string, StoredText>
  readonly files: ReadonlyMap<Sha256, StoredText>
}

export interface ConsentOptions {
  readonly say: SafeText
  readonly all: boolean
  readonly contents: ConsentContents
  /** How to see everything, worded by the face. */
  readonly whole: string
  /** What the gate holds now; null when unknown, as for a past question. */
  readonly releases?: Releases | null
}

const BLOCK_MAX = 40
const PATHS_MAX = 20

export function neededFor(
  shown: Shown,
  { all }: Pick<ConsentOptions, 'all'>,
): { readonly changes: readonly ShownChange[]; readonly files: readonly Sha256[] } {
  const tasks = shown.type === 'task' ? [shown] : shown.tasks
  const files = all ? tasks.flatMap(({ does, files }) => ('diff' in does ? [] : files.map(({ sha256 }) => sha256))) : []
  return { changes: toldChanges(shown.reviewed ?? [], all), files: [...new Set(files)] }
}

const changesIn = (reviewed: readonly ShownChange[]): readonly ShownChange[] =>
  reviewed.filter(({ before, now }) => before !== now)

const toldChanges = (reviewed: readonly ShownChange[], all: boolean): readonly ShownChange[] =>
  changesIn(reviewed).slice(0, all ? undefined : PATHS_MAX)

export const consentText = (shown: Shown, options: ConsentOptions): readonly ConsentLine[] =>
  shown.type === 'task' ? taskLines(shown, options) : gateLines(shown, options)

const dim = (text: string): ConsentSpan => ({ tone: 'dim', text })
const yellow = (text: string): ConsentSpan => ({ tone: 'yellow', text })
const indented = (line: ConsentLine): ConsentLine => ['  ', ...line]

function gateLines(shown: ShownGate, options: ConsentOptions): readonly ConsentLine[] {
  const { tasks, leads, later, reviewed, beside = [], words } = shown
  const { say, releases = null } = options
  const lines: ConsentLine[] = []
  if (reviewed !== null) lines.push(...reviewLines(reviewed, options))
  for (const line of beside) lines.push([yellow(`outside the scopes of its tasks: ${options.say.visible(line)}`)])
  for (const { outcome, to } of leads ?? [])
    lines.push([`choosing ${say.visible(outcome)} starts ${listOf(to, 'nothing more', say)}`])
  const waits = new Map(releases?.waits.map(each => [each.task, each.for]))
  // The review is shown once.
  const linesOf = (one: ShownTask): readonly ConsentLine[] => {
    const [first = [], ...rest] = taskLines({ ...one, reviewed: null }, options)
    const others = waits.get(one.task)
    const also: readonly ConsentLine[] = others === undefined ? [] : [['  ', yellow(alsoWaits(others, say))]]
    return [first, ...also, ...rest].map(indented)
  }
  const alone = tasks.filter(({ task }) => !waits.has(task))
  const held = tasks.filter(({ task }) => waits.has(task))
  if (alone.length > 0 && leads !== undefined) lines.push(['depending on your choice, this runs:'])
  else if (alone.length > 0)
    lines.push([`if you approve, ${alone.length === 1 ? 'this runs' : `these ${alone.length} tasks run`}:`])
  for (const one of alone) lines.push(...linesOf(one))
  if (held.length > 0)
    lines.push([
      `${alone.length === 0 ? 'if you approve, you agree' : 'you also agree'} to ${held.length === 1 ? 'this task' : `these ${held.length} tasks`}; ${held.length === 1 ? 'it does' : 'they do'} not start yet:`,
    ])
  for (const one of held) lines.push(...linesOf(one))
  const shownWhole = new Set<string>([...tasks.map(({ task }) => task), ...later])
  lines.push(...otherwiseLines(shown, releases, shownWhole, say))
  if (later.length > 0) lines.push([dim(`needs an approval of its own later: ${later.map(say.visible).join(', ')}`)])
  const isNothing = releases === null || (releases.begins.length === 0 && releases.waits.length === 0)
  if (tasks.length === 0 && later.length === 0 && reviewed === null && leads === undefined && isNothing)
    lines.push(['no task starts directly after it'])
  return [...lines, ...authorLines(words, say)]
}

const NAMES_MAX = 20

const alsoWaits = (others: readonly string[], say: SafeText): string => `also waits for ${namesOf(others, say)}`

function namesOf(names: readonly string[], say: SafeText): string {
  const more = names.length - NAMES_MAX
  return `${names.slice(0, NAMES_MAX).map(say.visible).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Tasks behind the gate that are named only, with what else they wait for. */
function otherwiseLines(
  { gate }: ShownGate,
  releases: Releases | null,
  shownWhole: ReadonlySet<string>,
  say: SafeText,
): readonly ConsentLine[] {
  if (releases === null) return []
  const begins = releases.begins.filter(task => !shownWhole.has(task))
  const waits = releases.waits.filter(({ task }) => !shownWhole.has(task))
  const verb = gate === 'question' ? 'your answer starts' : gate === 'decision' ? 'any choice starts' : 'it starts'
  const more = releases.more > 0 ? [`and ${releases.more} more tasks after it`] : []
  return [
    ...(begins.length === 0 ? [] : [`${verb}: ${namesOf(begins, say)}`]),
    ...waits.slice(0, NAMES_MAX).map(each => `${say.visible(each.task)} ${alsoWaits(each.for, say)}`),
    ...(waits.length > NAMES_MAX ? [`… and ${waits.length - NAMES_MAX} more wait for others as well`] : []),
    ...more,
  ].map(line => [dim(line)])
}

function taskLines(shown: ShownTask, options: ConsentOptions): readonly ConsentLine[] {
  const { say } = options
  const { visible } = say
  const { task, visit, impact, does, program, cwd, inputs, values, env, files, remotes, words } = shown
  const block = (text: string): readonly ConsentLine[] => blockOf(say.visibleLines(text), options)
  const file = (label: string, { path, sha256, bytes }: ShownTask['files'][number]): ConsentLine =>
    field(label, `${visible(path)} `, dim(`sha256 ${sha256.slice(0, 12)}, ${numberOf(bytes, 'byte')}`))
  const lines: ConsentLine[] = [
    [
      { tone: 'bold', text: visible(task) },
      ` (run ${visit}, ${effectWords(shown)}`,
      ...(impact === null ? [] : [', ', { tone: 'red', text: IMPACT_WORDS[impact] } as const]),
      ')',
    ],
  ]
  if (shown.open !== null)
    lines.push([
      yellow(`  not all of it is known yet (${visible(shown.open)}); you are asked again when it is. So far:`),
    ])
  if (shown.filledLater !== undefined && shown.filledLater.length > 0)
    lines.push([
      yellow(`  earlier tasks fill this in, and you are not asked again: ${listOf(shown.filledLater, '', say)}`),
    ])
  lines.push(...doneLines(does, say, block))
  if ('stdin' in does && does.stdin !== null)
    lines.push(['  and is given as standard input:'], ...block(spelled(does.stdin)))
  for (const [label, value] of Object.entries(values))
    lines.push(field('value', `${visible(label)} = `, ...wordOf(value, say)))
  for (const [label, value] of Object.entries(inputs))
    lines.push(field('input', `${visible(label)} = ${visible(JSON.stringify(value))}`))
  if (Object.keys(env).length > 0)
    lines.push(field('env', `${Object.keys(env).map(visible).join(', ')} `, dim('(values are bound, not shown)')))
  if (shown.feedback !== null) lines.push(['  with the requested changes:'], ...block(shown.feedback))
  lines.push(field('in', visible(cwd)))
  if (program !== null) lines.push(field('program', visible(program)))
  for (const one of files) {
    lines.push(file('file', one))
    if (options.all && !('diff' in does)) lines.push(...contentLines(one.sha256, options))
  }
  if (files.length > 0 && !('diff' in does) && !options.all)
    lines.push([dim(`            their content: ${options.whole}`)])
  for (const [remote, url] of Object.entries(remotes))
    lines.push(field('remote', `${visible(remote)} = ${visible(url)}`))
  for (const [ref, commit] of Object.entries(shown.push?.commits ?? {}))
    lines.push(field('pushes', `${visible(ref)} = ${visible(commit)}`))
  for (const [key, value] of Object.entries(shown.push?.config ?? {}))
    lines.push(field('git', `${visible(key)} = ${visible(value)}`))
  const hook = shown.push?.hook ?? null
  if (hook !== null) lines.push(file('hook', hook))
  lines.push(field('writes', writesOf(shown, say)))
  // A database is a file, so there is no network access.
  if (!('to' in does) || factsOf(does).network !== undefined) {
    lines.push(field('network', networkOf(shown, say)))
    if (shown.hosts.length > 0) lines.push(field('hosts', listOf(shown.hosts, 'none', say)))
  }
  // This text is part of stored approvals, so it is only reworded here.
  lines.push(field('cost', shown.cost === 'no budget said' ? 'no budget set' : visible(shown.cost)))
  for (const command of shown.besides) {
    const [, label = '', text = ''] = /^([^:]*): (.*)$/s.exec(command) ?? []
    if (text.includes('\n')) lines.push(field('also runs', `${visible(label)}:`), ...block(text))
    else lines.push(field('also runs', visible(command)))
  }
  if (shown.reviewed !== null) lines.push(...reviewLines(shown.reviewed, options))
  return [...lines, ...authorLines(words, say).map(indented)]
}

const field = (label: string, ...text: readonly ConsentSpan[]): ConsentLine => [
  '  ',
  dim(label.padEnd(9)),
  ' ',
  ...text,
]

function doneLines(
  does: ShownAction,
  say: SafeText,
  block: (text: string) => readonly ConsentLine[],
): readonly ConsentLine[] {
  if ('argv' in does) {
    const { argv } = does
    const head = `  runs ${argv.length === 1 ? 'this word' : `these ${argv.length} words`}, without a shell:`
    return [[head], ...argv.map((word, at) => ['    ', dim(`[${at}]`), ' ', ...wordOf(word, say)])]
  }
  if ('script' in does) return [['  runs this script with sh -eu:'], ...block(spelled(does.script))]
  if ('diff' in does) return [['  changes files like this:'], ...block(does.diff)]
  if ('git' in does) return [field('git', say.visible(gitText(does.git)))]
  if ('lines' in does) return [[`  ${factsOf(does).asks ?? 'asks this'}:`], ...block(does.lines.join('\n'))]
  const withHead = (head: string) => (does.instruction === null ? [] : [[head], ...block(does.instruction)])
  if (!('agent' in does)) return [['  is done by the agent or person that claims it'], ...withHead('  instruction:')]
  const agent = typeof does.agent === 'string' ? does.agent : JSON.stringify(does.agent)
  return [field('agent', say.visible(agent)), ...withHead('  is told:')]
}

const factsOf = ({ to }: Extract<ShownAction, { readonly type: 'request' }>) => actionFacts({ type: to as ActionType })

/** Without a sandbox, writes and network access are only declared by the author. */
export function writesOf({ write, effect, sandbox }: ShownTask, say: Pick<SafeText, 'visible'> = AS_IT_IS): string {
  if (effect === 'pure' && (write ?? []).length === 0)
    return sandbox === true ? 'nothing (enforced by the sandbox)' : 'nothing (declared read-only)'
  if (write === null)
    return sandbox === true
      ? 'not declared (the sandbox lets it write the whole workspace, nothing else)'
      : 'not declared (can write anywhere)'
  return `${listOf(write, 'nothing', say)}${heldBy(sandbox)}`
}

const heldBy = (sandbox: true | undefined): string => (sandbox === true ? ' (enforced by the sandbox)' : '')

/** With how the command runs: the sandbox enforces the effect; otherwise the author is trusted. */
const effectWords = ({ effect, sandbox, does }: ShownTask): string =>
  does.type === 'argv' || does.type === 'script'
    ? `effect ${effect}, runs ${sandbox === true ? 'held in the sandbox' : 'as you'}`
    : `effect ${effect}`

function gitText(git: GitAction): string {
  switch (git.do) {
    case 'commit':
      return `commits ${git.paths === undefined ? 'what the plan wrote' : git.paths.join(', ')} as ${JSON.stringify(git.message)}`
    case 'tag':
      return `tags ${git.name}${git.message === undefined ? '' : ` ${JSON.stringify(git.message)}`}`
    case 'merge':
      return `merges the branch of ${git.task}`
    default:
      return git satisfies never
  }
}

/** The engine itself runs edits and git actions, without network access. */
export function networkOf(
  { network, unknown, does, sandbox, rules }: ShownTask,
  say: Pick<SafeText, 'visible'> = AS_IT_IS,
): string {
  if ('diff' in does || 'git' in does) return 'none'
  if (network === null && rules === 'own') return 'not declared (only what your own network rules allow)'
  if (network === null && 'to' in does && factsOf(does).network === 'open')
    return 'not declared (no private address without a rule)'
  if (network === null) return 'not declared (can reach anything)'
  return `${listOf(networkWords({ allow: network, unknown: unknown ?? 'deny' }), 'none', say)}${heldBy(sandbox)}`
}

/** For a face whose text is already escaped. */
const AS_IT_IS = { visible: (text: string): string => text }

const listOf = (words: readonly string[], none: string, { visible }: Pick<SafeText, 'visible'>): string =>
  words.length === 0 ? none : words.map(visible).join(', ')

function wordOf(word: string, { nonAscii, quotedWord }: SafeText): ConsentLine {
  const strange = nonAscii(word)
  const quoted = quotedWord(spelled(word))
  return strange.length === 0 ? [quoted] : [quoted, ' ', yellow(`(contains ${strange.join(', ')})`)]
}

/** Everything the plan has written so far, as a diff. */
function reviewLines(reviewed: readonly ShownChange[], options: ConsentOptions): readonly ConsentLine[] {
  const { say, all, contents, whole } = options
  const changes = changesIn(reviewed)
  const shown = toldChanges(reviewed, all)
  const lines: ConsentLine[] = [
    [
      changes.length === 0
        ? 'the plan changed no files'
        : `changed by the plan so far, ${numberOf(changes.length, 'path')}:`,
    ],
  ]
  for (const change of shown) {
    lines.push([`  ${say.visible(change.path)} `, dim(hashesOf(change))])
    const patch = contents.patches.get(change.path) ?? NOT_STORED
    const shown = patch.type === 'text' ? patch.lines.flatMap(line => say.visibleLines(line)) : [`(${patch.why})`]
    lines.push(...blockOf(shown, options))
  }
  if (shown.length < changes.length) lines.push([`  … and ${changes.length - shown.length} more paths: ${whole}`])
  return lines
}

const NOT_STORED: StoredText = {
  type: 'none',
  why: 'too large to store, or not a file: only its hash is known',
}

const hashesOf = ({ before, now }: ShownChange): string =>
  `${before === null ? 'nothing' : before.slice(0, 12)} → ${now === null ? 'nothing' : now.slice(0, 12)}`

function contentLines(hash: Sha256, { contents, say }: ConsentOptions): readonly ConsentLine[] {
  const text = contents.files.get(hash)
  if (text === undefined) return [[dim('    (not stored: outside the workspace, or too large)')]]
  if (text.type === 'none') return [[dim(`    (${text.why})`)]]
  return say.visibleLines(spelled(text.lines.join('\n'))).map(line => ['    ', dim('│'), ` ${line}`])
}

function blockOf(lines: readonly string[], { all, whole }: ConsentOptions): readonly ConsentLine[] {
  const visible = all ? lines : lines.slice(0, BLOCK_MAX)
  const left = lines.length - visible.length
  return [
    ...visible.map(line => ['    ', dim('│'), ` ${line}`]),
    ...(left === 0 ? [] : [[`    … ${numberOf(left, 'more line')}: ${whole}`]]),
  ]
}

/** At the end, because it is not verified. */
function authorLines(
  { title, description, rationale, risks = [] }: ShownWords,
  { visibleLines }: SafeText,
): readonly ConsentLine[] {
  const claims = [
    ...(title === undefined ? [] : [title]),
    ...(description === undefined ? [] : [description]),
    ...(rationale === undefined ? [] : [rationale]),
    ...risks.map(risk => `risk: ${risk}`),
  ]
  if (claims.length === 0) return []
  return [
    [dim("from the plan's author (not verified):")],
    ...claims.flatMap(text => visibleLines(text)).map((line): ConsentLine => ['  ', dim('│'), ` ${line}`]),
  ]
}
