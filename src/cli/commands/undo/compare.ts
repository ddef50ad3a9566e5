// `planfold show A --compare B`: two plans side by side, or the tries of a task of A. Inputs, how each task went, outputs. Changes nothing.

import { numberOf } from '../../../domain/phrases.ts'
import { isEmpty } from '../../../domain/revisions/semantic-diff.ts'
import type { Comparison, RunFacts, TaskFacts, TaskPair } from '../../../domain/views/compare.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { elapsed } from '../../terminal/elapsed-time.ts'
import { type Cell, cut, table } from '../../terminal/table.ts'
import { compareTries } from './compare-tries.ts'

export interface CompareOptions {
  readonly all?: boolean
}

const COLUMNS = 100
const SHORT = 30
const NAME_MAX = 26
const DIFF_LINES_MAX = 40

export async function compare(
  context: Context,
  first: string | undefined,
  second: string,
  options: CompareOptions,
): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const a = await findPlan(engine, first, { looking: true })
    if (await compareTries(context, engine, a.plan, second, options)) return EXIT.done
    const b = await findPlan(engine, second)
    const compared = await engine.ask({ type: 'compare', plan: a.plan, with: b.plan })
    if (compared === null) throw new Error(`bug: the plans ${a.plan} and ${b.plan} were found and are gone`)
    answer(context, compared, () => lines(context, compared, options))
    return EXIT.done
  })
}

function lines(context: Context, compared: Comparison, options: CompareOptions): readonly string[] {
  const { paint, terminal } = context
  const columns = Math.min(COLUMNS, terminal?.columns() ?? COLUMNS)
  const { a, b, definition, tasks, files } = compared
  const different = tasks.filter(({ differs }) => differs.length > 0)
  const shown = options.all === true || tasks.length <= SHORT ? tasks : different
  const left = tasks.length - shown.length
  return [
    ...table(paint, ['', cut(a.name, 34), cut(b.name, 34)], runRows(a, b), columns),
    '',
    ...definitionLines(context, compared, columns),
    ...(shown.length === 0
      ? []
      : [
          '',
          ...table(
            paint,
            HEADS,
            shown.map(pair => taskRow(context, pair)),
            columns,
          ),
        ]),
    '',
    different.length === 0
      ? paint.green(tasks.length === 1 ? 'the only task is the same' : `all ${tasks.length} tasks are the same`)
      : `${different.length} of ${numberOf(tasks.length, 'task')} ${different.length === 1 ? 'differs' : 'differ'}`,
    ...(left > 0 ? [paint.dim(`${left} equal tasks are not shown; see --all`)] : []),
    ...(files.length === 0
      ? []
      : [
          '',
          ...table(
            paint,
            ['file', 'a', 'b'],
            files.map(({ path, ...file }) => [cut(path, 60), hashOf(file.a), hashOf(file.b)]),
            columns,
          ),
        ]),
    ...(definition.same
      ? []
      : [
          paint.dim(
            `in full: planfold show ${escapeForTerminal(a.name)} --compare ${escapeForTerminal(b.name)} --json`,
          ),
        ]),
  ]
}

function runRows(a: RunFacts, b: RunFacts): readonly (readonly Cell[])[] {
  const row = (word: string, of: (run: RunFacts) => string): readonly Cell[] => [word, cut(of(a), 34), cut(of(b), 34)]
  return [
    row('status', run => run.status),
    ...(a.origin === null && b.origin === null
      ? []
      : [row('forked from', ({ origin }) => [a, b].find(({ id }) => id === origin)?.name ?? origin ?? '')]),
    row('revision', ({ revision, hash }) => `${revision} (${hash.slice(0, 12)})`),
    row('time', ({ durationMs }) => (durationMs === null ? 'unfinished' : elapsed(durationMs))),
    row('work', ({ workMs }) => elapsed(workMs)),
    row('tasks', run => String(run.tasks)),
    row('attempts', ({ attempts, retries }) => (retries === 0 ? String(attempts) : `${attempts} (${retries} retries)`)),
    row('failures', ({ failures, lost }) => (lost === 0 ? String(failures) : `${failures}, interrupted ${lost}`)),
  ]
}

function definitionLines({ paint }: Context, { definition }: Comparison, columns: number): readonly string[] {
  if (isEmpty(definition.diff)) return [paint.green('the definitions are the same')]
  const text = escapeForTerminal(explainDiff(definition.diff), { keepLines: true }).split('\n')
  const cutTo =
    text.length > DIFF_LINES_MAX
      ? [...text.slice(0, DIFF_LINES_MAX), `… and ${numberOf(text.length - DIFF_LINES_MAX, 'more line')}`]
      : text
  return ['the definitions differ:', ...cutTo.map(line => `  ${cut(line, columns - 2)}`)]
}

const HEADS = ['task', 'a', 'attempts', 'time', 'b', 'attempts', 'time', 'differs']

function taskRow({ paint }: Context, pair: TaskPair): readonly Cell[] {
  const { task, renamed, a, b, differs } = pair
  const tint = differs.length === 0 ? paint.dim : paint.yellow
  return [
    cut(renamed === null ? task : `${task} → ${renamed}`, NAME_MAX),
    ...cells(a),
    ...cells(b),
    { text: wordsOf(pair), tint },
  ]
}

const cells = (facts: TaskFacts | null): readonly Cell[] =>
  facts === null
    ? ['–', '', '']
    : facts.brought
      ? [facts.status, 'inherited', '']
      : [facts.status, triesOf(facts), facts.attempts === 0 ? '' : elapsed(facts.durationMs)]

const triesOf = ({ attempts, visits }: TaskFacts): string =>
  visits > 1 ? `${attempts} (${visits} runs)` : String(attempts)

function wordsOf({ a, b, differs, outputs }: TaskPair): string {
  if (a === null || b === null) return a === null ? 'only in b' : 'only in a'
  return differs
    .map(word => {
      if (word === 'outcome') return `${a.outcome ?? 'none'} → ${b.outcome ?? 'none'}`
      if (word === 'exit') return `exit ${a.exit ?? '–'} → ${b.exit ?? '–'}`
      if (word === 'outputs') return `outputs ${outputs.join(', ')}`
      return word
    })
    .join(', ')
}

const hashOf = (hash: string | null | undefined): string =>
  hash === undefined
    ? 'unchanged'
    : hash === null
      ? 'removed'
      : cut(/^[0-9a-f]{64}$/.test(hash) ? hash.slice(0, 12) : hash, 16)
