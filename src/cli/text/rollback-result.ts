// Sentences about rollbacks and checkpoints: what changed, how it ended, what stopped it.

import type { PlanId } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import type { PlanStatus } from '../../domain/status.ts'
import type { WorkspaceStamp } from '../../domain/views/checkpoints.ts'
import type { Summary } from '../../domain/views/summary.ts'
import type { CheckpointCard, Engine } from '../../engine/engine.ts'
import type { RollbackEnd } from '../../operations/rollback-plan.ts'
import { escapeForTerminal, shellWord } from '../../safety/text/terminal.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { brief } from '../terminal/one-line.ts'
import type { Paint } from '../terminal/paint.ts'
import { hintText } from './hint-text.ts'
import { shownPath } from './path-text.ts'

export interface Happened {
  readonly happened: 'added' | 'removed' | 'changed' | 'mode'
  readonly how: string | null
}

export function changeKind({ before, after }: Change): Happened {
  if (before === null) return { happened: 'added', how: after === null ? null : kindOf(after) }
  if (after === null) return { happened: 'removed', how: kindOf(before) }
  if (before.type !== after.type) return { happened: 'changed', how: `${kindOf(before)} → ${kindOf(after)}` }
  if (before.type === 'link') return { happened: 'changed', how: `${kindOf(before)} → ${kindOf(after)}` }
  const modes = before.mode === (after as typeof before).mode ? null : modesOf(before, after as typeof before)
  if (before.type === 'directory') return { happened: 'mode', how: modes }
  const now = after as typeof before
  if (before.sha256 === now.sha256) return { happened: 'mode', how: modes }
  const sizes = `${before.size} → ${numberOf(now.size, 'byte')}`
  return { happened: 'changed', how: modes === null ? sizes : `${sizes}, mode ${modes}` }
}

const modesOf = (before: { readonly mode: number }, after: { readonly mode: number }): string =>
  `${octal(before.mode)} → ${octal(after.mode)}`

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(3, '0')

function kindOf(entry: TreeEntry): string {
  switch (entry.type) {
    case 'file':
      return `${numberOf(entry.size, 'byte')}`
    case 'link':
      return `link to ${entry.target}`
    case 'directory':
      return 'folder'
    default:
      return entry satisfies never
  }
}

// What a rollback has done, as lines for a person: what changed, what was left and why, whose bytes were kept and how to get
// them, and the commands that go on from there. A rollback that left something says so before anything else.

export interface RollbackReport {
  readonly name: string
  readonly what: string
  readonly ended: RollbackEnd
  /** Changes that the preview did not announce. */
  readonly also?: readonly Change[]
  /** All changes, when there was no preview. */
  readonly files?: readonly Change[]
  readonly failed?: readonly { readonly task: string; readonly why: string }[]
  readonly status: PlanStatus
  readonly again?: string
  readonly unclaimed?: ReadonlySet<string>
}

const FILES_MAX = 50

export async function changedBy(engine: Engine, { changes }: RollbackEnd): Promise<readonly Change[]> {
  const stored = changes === null ? null : await engine.ask({ type: 'blob', sha256: changes })
  return stored === null ? [] : (JSON.parse(Buffer.from(stored).toString('utf8')) as readonly Change[])
}

export type Say = (words: string) => string

export function resultLines(
  { name, what, ended, also = [], files = [], failed = [], status, again, unclaimed = new Set() }: RollbackReport,
  paint: Paint,
  say: Say = words => `planfold ${words}`,
): readonly string[] {
  const isUndo = what.endsWith('was undone')
  const line = (word: string, text: string, tint = paint.dim): string => `  ${tint(word.padEnd(8))} ${text}`
  const storedLines = (path: string, sha256: string): readonly string[] => [
    line('kept', `the previous version of ${shownPath(path)} is backed up as ${sha256}`, paint.yellow),
    line(
      '',
      say(`checkpoint cat ${name} ${sha256} > ${shellWord(`${path.replaceAll('/', '-')}.${sha256.slice(0, 8)}.kept`)}`),
    ),
  ]
  const { left = [], kept = [], git = [] } = ended
  const details = [
    ...files
      .slice(0, FILES_MAX)
      .map(({ path, before, after }) =>
        line(before === null ? 'create' : after === null ? 'delete' : 'restore', shownPath(path)),
      ),
    ...(files.length > FILES_MAX ? [line('', `and ${numberOf(files.length - FILES_MAX, 'path')} more`)] : []),
    ...also.flatMap(({ path, before, after }) => [
      line(
        'also',
        `${shownPath(path)} was ${after === null ? 'deleted' : 'reverted'}; it was written meanwhile`,
        paint.yellow,
      ),
      ...(before?.type === 'file' ? storedLines(path, before.sha256) : []),
    ]),
    ...left
      .filter(({ path }) => !unclaimed.has(path))
      .map(({ path, reason }) => line('kept', `${shownPath(path)}: ${escapeForTerminal(reason)}`, paint.yellow)),
    ...(unclaimed.size === 0
      ? []
      : [
          line(
            'kept',
            `${unclaimedNames(unclaimed)}, perhaps yours. To revert ${unclaimed.size === 1 ? 'it' : 'them'} as well:`,
            paint.yellow,
          ),
          line('', `${again ?? say(`rollback ${name}`)} --include-unclaimed`),
        ]),
    ...git.map(operation => line('git', escapeForTerminal(gitWords(operation)))),
    ...kept.flatMap(({ path, sha256 }) => storedLines(path, sha256)),
  ]
  const undone = failed.map(({ task, why }) =>
    line(
      'remains',
      `what ${task} did, because its undo step failed (${escapeForTerminal(why)}); undo it manually`,
      paint.red,
    ),
  )
  if (ended.type === 'rollback.stopped') {
    const { failure, conflicts = [] } = ended
    const [first] = failed
    const notDone = isUndo
      ? `: ${escapeForTerminal(what).replace(/was undone$/, 'was not undone')}`
      : ' was not rolled back'
    if (first !== undefined && again !== undefined)
      return [
        `${paint.red('✖')} ${paint.bold(name)}${notDone}: ${escapeForTerminal(failure.message)}`,
        ...details,
        line('output', say(`log ${name} ${first.task} --output`)),
        '  no file was changed; fix the cause and try again, or undo its effects by hand and continue without it',
        `  Next: ${paint.bold(again)}`,
        `    or: ${paint.bold(`${again} --force`)}   continues even if the undo step fails again`,
      ]
    return [
      `${paint.red('✖')} ${paint.bold(name)}${notDone}: ${escapeForTerminal(failure.message)}`,
      ...conflicts.map(path => line('changed', `${shownPath(path)}, not by the plan`, paint.yellow)),
      ...details,
      `  no file was changed${failure.hint === undefined ? '' : `; ${escapeForTerminal(hintText(failure.hint))}`}`,
    ]
  }
  const unsaved = left.filter(({ uncovered }) => uncovered === true).length
  const others = left.length === unsaved ? 0 : Math.max(left.length - unsaved, unclaimed.size)
  const apart = [...(others === 0 ? [] : [numberOf(others, 'path')]), ...(unsaved === 0 ? [] : ['what was not saved'])]
  const sign = left.length + failed.length === 0 ? paint.green('✔') : paint.yellow('!')
  return [
    `${sign} ${paint.bold(name)}: ${escapeForTerminal(what)}${apart.length === 0 ? '' : `, except ${apart.join(' and ')}`}; ${ended.paths === 0 ? 'no files changed' : `${numberOf(ended.paths, 'path')} changed`}`,
    ...undone,
    ...details,
    `  ${isUndo ? 'Redo' : 'Undo'}: ${paint.bold(say(`undo ${name}`))}`,
    ...(status === 'paused' ? [`  Next: ${paint.bold(say(`resume ${name}`))}`] : []),
  ]
}

const UNCLAIMED_MAX = 5

function unclaimedNames(paths: ReadonlySet<string>): string {
  const named = [...paths].slice(0, UNCLAIMED_MAX).map(shownPath).join(', ')
  return paths.size > UNCLAIMED_MAX ? `${named} and ${paths.size - UNCLAIMED_MAX} more` : named
}

function gitWords(operation: GitOperation): string {
  if (!('before' in operation))
    return `${operation.type.replace('.', ' ')} ${'path' in operation ? operation.path : operation.ref}`
  const { type, ref, before, after, backup } = operation
  const kept = backup === undefined ? '' : `; the previous value is backed up as ${backup}`
  return `${type.replace('.', ' ')}: ${ref} ${before?.slice(0, 12) ?? 'nothing'} → ${after?.slice(0, 12) ?? 'nothing'}${kept}`
}

// A checkpoint in words: why it is there, what it contains, and what it does not. Names come from plans and files of others: the
// caller escapes these lines.

export function whyWords({ why, task }: Pick<CheckpointCard, 'why' | 'task'>): string {
  switch (why) {
    case 'after':
      return `after ${task ?? 'a task'}`
    case 'asked':
      return 'manually'
    case 'task':
      return `by the task ${task ?? ''}`.trimEnd()
    case 'every':
      return `before ${task ?? 'a task'}, by policy`
    case 'risky':
      return `before ${task ?? 'a task'}, which is risky`
    case 'ended':
      return 'when the fork finished'
    case 'entry':
      return 'no checkpoint was taken there'
    default:
      return why satisfies never
  }
}

export function standingWords(standing: WorkspaceStamp): readonly (readonly [string, string])[] {
  const { snapshot, files, left = 0, lacks, git, about } = standing
  const lines: (readonly [string, string])[] = []
  if (snapshot !== undefined)
    lines.push(['files', `${files === undefined ? 'all' : numberOf(files, 'file')} stored, snapshot ${snapshot}`])
  if (lacks !== undefined) lines.push(['not there', `files are not stored: ${lacks}`])
  if (left > 0) lines.push(['not there', `${numberOf(left, 'path')} could not be read, so they cannot be reverted`])
  if (git !== undefined) {
    const on = git.branch === null ? 'detached' : git.branch
    lines.push([
      'git',
      `${on}${git.head === null ? ', which has no commits yet' : ` at ${git.head.slice(0, 12)}`}, ${numberOf(git.dirty, 'path')} not committed`,
    ])
  }
  if (about !== undefined) lines.push(['made by', about])
  return lines
}

export function standingShort({ snapshot, files, left = 0, lacks, git }: WorkspaceStamp): string {
  return [
    snapshot === undefined ? '' : files === undefined ? 'all files' : numberOf(files, 'file'),
    git === undefined
      ? ''
      : git.head === null
        ? 'no commits yet'
        : `${git.branch ?? 'detached'}@${git.head.slice(0, 7)}`,
    left > 0 ? `${left} not captured` : '',
    lacks === undefined ? '' : `no files: ${lacks}`,
  ]
    .filter(text => text !== '')
    .join(', ')
}

export function rollbackLine({ rollback }: Summary, paint: Paint): string | null {
  if (rollback === undefined) return null
  const { kind, to, checkpoint } = rollback
  if (kind === 'adopt') return `  ${paint.yellow('adoption')} of a fork under way`
  const what = kind === 'undo' ? 'undoing the last rollback' : `to ${checkpoint ?? `entry ${to}`}`
  return `  ${paint.yellow('rollback')} under way: ${brief(what)}`
}

/** Why the last rollback of an ended plan stopped, as long as that is undecided. */
export async function stoppedRollback(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<string | null> {
  const { items } = await engine.ask({ type: 'inbox' })
  const asks = items.find(item => item.plan === plan && item.asks.type === 'rollback')?.asks
  return asks?.type === 'rollback' ? asks.message : null
}
