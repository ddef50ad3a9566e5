// What a rollback would do, as lines for a person: every file, every task, what is run, what stays. Also the files that were
// edited since, with the exact commands that continue.

import type { Reset } from '../../domain/command.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { FilePreview, RollbackPreview } from '../../engine/engine.ts'
import { escapeForTerminal, shellWord } from '../../safety/text/terminal.ts'
import type { Choice } from '../../workspace/workspace.ts'
import type { Context } from '../context.ts'
import { ago } from '../terminal/elapsed-time.ts'
import { hanging } from '../terminal/table.ts'
import { shownPath } from './path-text.ts'
import { whyWords } from './rollback-result.ts'

export type Preview = Extract<RollbackPreview, { ok: true }>

export interface Asked {
  readonly name: string
  readonly preview: Preview
  /** What a person, or `force`, chose for a path that was edited since; null without a choice. */
  readonly choiceOf: (path: string) => Choice | null
  readonly isKept: (path: string) => boolean
  readonly isStart: boolean
  readonly isRunning: boolean
  readonly filesOnly: boolean
  readonly only: { readonly tasks?: readonly string[]; readonly files?: readonly string[] }
  readonly command: string
}

export const undecided = ({ preview, choiceOf }: Asked): readonly FilePreview[] =>
  preview.files.filter(({ path, conflict }) => conflict !== undefined && choiceOf(path) === null)

export function previewLines(context: Context, asked: Asked): readonly string[] {
  const { paint } = context
  const { preview, filesOnly } = asked
  const line = (word: string, text: string, tint = paint.dim): string =>
    `  ${tint(word.padEnd(9))} ${hanging(escapeForTerminal(text), 12, context.terminal?.columns())}`
  return [
    hanging(headOf(context, asked), 2, context.terminal?.columns()),
    ...fileLines(context, asked),
    ...taskLines(preview.resets, filesOnly).map(text => line('tasks', text)),
    ...(preview.decisionsLost.length === 0
      ? []
      : [line('decisions', `lost: ${preview.decisionsLost.map(decisionWords).join(', ')}`, paint.yellow)]),
    ...(preview.compensate.length === 0
      ? []
      : [line('run', `undo steps, one after the other: ${preview.compensate.join(', ')}`)]),
    ...preview.git.flatMap(({ do: step, target, from, to, why, run }) => [
      line(
        'git',
        `${step} ${target}${from === null && to === null ? '' : ` ${short(from)} → ${short(to)}`}: ${why}`,
        step === 'refuse' ? paint.yellow : paint.dim,
      ),
      ...run.map(command => line('', `run: ${command}`)),
    ]),
    ...staying(preview.stays).map(({ tasks, why, declared }) =>
      line(
        'remains',
        `${tasks.join(', ')}: ${why}${declared ? ' (--force continues)' : ''}`,
        declared ? paint.yellow : paint.dim,
      ),
    ),
    ...preview.kept.map(({ path, sha256 }) =>
      line('kept', `${path}: an edit between two tasks is backed up as ${sha256}`, paint.yellow),
    ),
  ]
}

function headOf({ paint, now }: Context, asked: Asked): string {
  const { name, preview } = asked
  const { kind, checkpoint, to, adopted, redoes } = preview
  if (kind === 'undo') {
    const what =
      adopted === undefined
        ? redoes === true
          ? `redo what was undone last in ${name}`
          : `undo the last rollback of ${name}`
        : `undo the adoption of ${escapeForTerminal(adopted)} in ${name}`
    return `${paint.bold(what)} ${paint.dim(`(back to entry ${to})`)}`
  }
  const { tasks, files } = asked.only
  if (tasks !== undefined && tasks.length > 0 && asked.isStart)
    return paint.bold(`revert what ${listed(tasks)} wrote in ${name}`)
  const part =
    tasks !== undefined && tasks.length > 0
      ? `revert what ${listed(tasks)} wrote in ${name}`
      : files !== undefined && files.length > 0
        ? `revert ${listed(files)} of ${name}`
        : asked.filesOnly
          ? `revert the files of ${name}`
          : `roll ${name} back`
  const when =
    checkpoint === null
      ? ''
      : ` ${paint.dim(`(${escapeForTerminal(`entry ${to}, ${whyUnless(preview.label, checkpoint)}${ago(checkpoint.at, now())}`)})`)}`
  const where = checkpoint === null ? placeName(asked) : (preview.label ?? checkpoint.name)
  return `${paint.bold(`${part} to ${escapeForTerminal(where)}`)}${when}`
}

function whyUnless(label: string | undefined, checkpoint: NonNullable<Preview['checkpoint']>): string {
  const why = whyWords(checkpoint)
  return why === label ? '' : `${why}, `
}

export function doneWords(asked: Asked): string {
  const { tasks, files } = asked.only
  if (tasks !== undefined && tasks.length > 0) return `reverted what ${listed(tasks)} wrote`
  if (files !== undefined && files.length > 0) return `reverted ${listed(files)} to ${placeName(asked)}`
  return asked.filesOnly ? `reverted its files to ${placeName(asked)}` : `rolled back to ${placeName(asked)}`
}

const decisionWords = ({ task, verdict, by }: Preview['decisionsLost'][number]): string =>
  `${task} (${verdict}${by === undefined ? '' : ` by ${by}`})`

const LISTED_MAX = 5

const listed = (names: readonly string[]): string =>
  `${names.slice(0, LISTED_MAX).map(shownPath).join(', ')}${names.length > LISTED_MAX ? ` and ${names.length - LISTED_MAX} more` : ''}`

export function placeName({ preview: { checkpoint, to, label }, isStart }: Pick<Asked, 'preview' | 'isStart'>): string {
  if (label !== undefined) return `${label} (entry ${to})`
  return checkpoint?.name ?? (isStart ? `before its first task (entry ${to})` : `entry ${to}`)
}

function fileLines({ paint, terminal }: Context, asked: Asked): readonly string[] {
  const { files } = asked.preview
  const open = new Set(undecided(asked).map(({ path }) => path))
  const right = files.filter(
    ({ will, why, conflict }) => will === 'leave' && why === undefined && conflict === undefined,
  )
  const listed = files.filter(file => !right.includes(file))
  const unclaimed = listed.filter(file => file.unclaimed !== undefined)
  const counts = [
    ...(listed.length === 0 ? [] : [numberOf(listed.length, 'path')]),
    ...(open.size === 0 ? [] : [`${shareOf(open.size, listed.length)}changed since, not by the plan`]),
    ...(unclaimed.length === 0 ? [] : [`${shareOf(unclaimed.length, listed.length)}perhaps yours`]),
    ...(right.length === 0 ? [] : [`${right.length} already up to date`]),
  ]
  const plain = listed.filter(({ path }) => !open.has(path))
  const shown = new Set(plain.length > SHOWN_MAX ? plain.slice(0, SHOWN_MAX) : plain)
  const rows = listed
    .filter(file => open.has(file.path) || shown.has(file))
    .map(file => {
      const [word, note] = wordsFor(file, asked)
      const tint = open.has(file.path) ? paint.yellow : (TINTS(paint)[word] ?? paint.dim)
      const text = `${shownPath(file.path)}${note === null ? '' : paint.dim(`  ${escapeForTerminal(note)}`)}`
      return `  ${open.has(file.path) ? paint.yellow('!') : ' '} ${tint(word.padEnd(8))} ${hanging(text, 13, terminal?.columns())}`
    })
  return [
    `  ${paint.dim('files'.padEnd(9))} ${counts.length === 0 ? 'none to revert' : counts.join(', ')}`,
    ...rows,
    ...(plain.length > shown.size ? [`    … and ${plain.length - shown.size} more; --json names them all`] : []),
  ]
}

export const shareOf = (some: number, all: number): string =>
  some < all ? `${some} of them ` : all === 1 ? '' : 'all of them '

const SHOWN_MAX = 30

const TINTS = (paint: Context['paint']): { readonly [word: string]: (text: string) => string } => ({
  restore: paint.cyan,
  create: paint.green,
  delete: paint.red,
  mode: paint.cyan,
  merge: paint.cyan,
})

function wordsFor(
  { path, will, conflict, why, unclaimed }: FilePreview,
  { choiceOf, isKept, isRunning }: Asked,
): readonly [string, string | null] {
  const choice = choiceOf(path)
  if (unclaimed !== undefined && will === 'leave')
    return [will, `${why}; --include-unclaimed would ${DOES[unclaimed]} it`]
  const word = will === 'chmod' ? 'mode' : will
  if (conflict === undefined)
    return isKept(path) && will !== 'leave' ? ['keep', 'as the plan left it'] : [word, why ?? null]
  const since = `${CONFLICTS[conflict]}, not by the plan${isRunning ? ', or by a running task' : ''}`
  if (will === 'leave') return [word, `${why ?? ''}; ${since}`.replace(/^; /, '')]
  if (choice === null) return [word, since]
  if (choice === 'keep') return ['keep', `${since}; your version is kept`]
  if (choice === 'merge') return ['merge', `${since}; your version is backed up`]
  return [word, `${since}; ${conflict === 'gone' ? 'it is restored' : 'your version is backed up'}`]
}

const DOES = { restore: 'restore', create: 'bring back', delete: 'delete', chmod: 'reset the mode of' } as const

const CONFLICTS: Readonly<Record<NonNullable<FilePreview['conflict']>, string>> = {
  'edited since': 'edited since',
  appeared: 'created since',
  gone: 'removed since',
}

function taskLines(resets: readonly Reset[], filesOnly: boolean): readonly string[] {
  if (filesOnly) return ['unchanged']
  const open = resets.filter(({ status }) => status === 'pending').map(({ task }) => task)
  const ended = [...new Set(resets.map(({ status }) => status))].filter(status => status !== 'pending')
  return [
    ...(open.length === 0 ? [] : [`will run again: ${open.join(', ')}`]),
    ...ended.map(status => {
      const tasks = resets.filter(each => each.status === status).map(({ task }) => task)
      return `back to ${status}: ${tasks.join(', ')}`
    }),
    ...(resets.length === 0 ? ['unchanged'] : []),
  ]
}

/** The commands that continue after edits since then, each with its meaning. */
export function nextCommands({
  command,
  ...asked
}: Asked): readonly { readonly run: string; readonly means: string }[] {
  const [first, second] = undecided({ command, ...asked })
  const each = second === undefined && first !== undefined ? shellWord(first.path) : 'all'
  return [
    { run: `${command} --keep ${each}`, means: 'keep the current file' },
    { run: `${command} --take ${each}`, means: 'take the earlier version; the current one is backed up' },
    { run: `${command} --merge ${each}`, means: 'merge both where there is no conflict' },
  ]
}

export function nextCommandLines({ paint }: Context, asked: Asked): readonly string[] {
  const ways = nextCommands(asked)
  const several = undecided(asked).length > 1
  return [
    '',
    `choose${several ? ', for all of them or for one PATH at a time' : ''}:`,
    ...ways.flatMap(({ run, means }) => [`  ${paint.bold(run)}`, paint.dim(`      ${means}`)]),
  ]
}

function staying(stays: Preview['stays']) {
  return [...new Set(stays.map(({ why }) => why))].map(why => {
    const same = stays.filter(one => one.why === why)
    return { why, tasks: same.map(({ task }) => task), declared: same.some(({ declared }) => declared) }
  })
}

const short = (oid: string | null): string => oid?.slice(0, 12) ?? 'nothing'
