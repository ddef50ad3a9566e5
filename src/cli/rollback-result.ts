// What a rollback has done, as lines for a person: what changed, what was left and why, whose bytes were kept and how to get
// them, and the commands that go on from there. A rollback that left something says so before anything else.

import type { GitOperation } from '../domain/git-operation.ts'
import { numberOf } from '../domain/number-of.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { Engine } from '../engine/engine.ts'
import { escapeForTerminal, shellWord } from '../safety/terminal.ts'
import type { Change } from '../workspace/workspace.ts'
import type { Paint } from './paint.ts'
import { shownPath } from './path-words.ts'
import type { Ended } from './rollback-words.ts'

export interface Told {
  readonly name: string
  /** `rolled back to cp-…`, `the last rollback was undone`. */
  readonly what: string
  readonly ended: Ended
  /** What was changed besides what had been foretold. */
  readonly also?: readonly Change[]
  /** All that was changed, when nothing had been foretold. */
  readonly files?: readonly Change[]
  /** Compensations that ended without success. */
  readonly failed?: readonly { readonly task: string; readonly why: string }[]
  /** How the plan stands now. */
  readonly status: PlanStatus
}

const FILES_MAX = 50

/** What it changed, as the content store holds it. */
export async function changedBy(engine: Engine, { changes }: Ended): Promise<readonly Change[]> {
  const stored = changes === null ? null : await engine.ask({ type: 'blob', sha256: changes })
  return stored === null ? [] : (JSON.parse(Buffer.from(stored).toString('utf8')) as readonly Change[])
}

/** `planfold …` with the state folder that was asked for, when one was. */
export type Say = (words: string) => string

export function resultLines(
  { name, what, ended, also = [], files = [], failed = [], status }: Told,
  paint: Paint,
  say: Say = words => `planfold ${words}`,
): readonly string[] {
  const line = (word: string, text: string, tint = paint.dim): string => `  ${tint(word.padEnd(8))} ${text}`
  const storedLines = (path: string, sha256: string): readonly string[] => [
    line('kept', `${shownPath(path)}, as it was, is stored as ${sha256}`, paint.yellow),
    line(
      '',
      say(
        `checkpoints cat ${name} ${sha256} > ${shellWord(`${path.replaceAll('/', '-')}.${sha256.slice(0, 8)}.kept`)}`,
      ),
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
        `${shownPath(path)} was ${after === null ? 'deleted' : 'set back'}; it was written meanwhile`,
        paint.yellow,
      ),
      ...(before?.type === 'file' ? storedLines(path, before.sha256) : []),
    ]),
    ...left.map(({ path, reason }) => line('left', `${shownPath(path)}: ${escapeForTerminal(reason)}`, paint.yellow)),
    ...git.map(operation => line('git', escapeForTerminal(gitWords(operation)))),
    ...kept.flatMap(({ path, sha256 }) => storedLines(path, sha256)),
  ]
  const undone = failed.map(({ task, why }) =>
    line('stays', `what ${task} did: ${escapeForTerminal(why)}; undo it by hand`, paint.red),
  )
  if (ended.type === 'rollback.stopped') {
    const { failure, conflicts = [] } = ended
    return [
      `${paint.red('✖')} ${paint.bold(name)} was not rolled back: ${escapeForTerminal(failure.message)}`,
      ...conflicts.map(path => line('changed', `${shownPath(path)} by somebody else`, paint.yellow)),
      ...details,
      `  no file was changed${failure.hint === undefined ? '' : `; ${escapeForTerminal(failure.hint)}`}`,
    ]
  }
  const apart = left.length === 0 ? '' : `, apart from ${numberOf(left.length, 'path')}`
  const sign = left.length + failed.length === 0 ? paint.green('✔') : paint.yellow('!')
  return [
    `${sign} ${paint.bold(name)}: ${escapeForTerminal(what)}${apart}; ${ended.paths === 0 ? 'no file had to change' : `${numberOf(ended.paths, 'path')} changed`}`,
    ...undone,
    ...details,
    `  take it back with: ${paint.bold(say(`undo ${name}`))}`,
    ...(status === 'paused' ? [`  go on from here with: ${paint.bold(say(`resume ${name}`))}`] : []),
  ]
}

function gitWords(operation: GitOperation): string {
  if (!('before' in operation))
    return `${operation.type.replace('.', ' ')} ${'path' in operation ? operation.path : operation.ref}`
  const { type, ref, before, after, backup } = operation
  const kept = backup === undefined ? '' : `; what stood there is kept as ${backup}`
  return `${type.replace('.', ' ')}: ${ref} ${before?.slice(0, 12) ?? 'nothing'} → ${after?.slice(0, 12) ?? 'nothing'}${kept}`
}
