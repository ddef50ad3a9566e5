// One episode of the kill loop, made from a seed: the plans, the files they find, and what the oracle expects of each task.
// Everything a task leaves behind depends only on its visit, so any number of kills must lead to the same files.

import { Random } from '../../../sim/random.ts'
import { LEDGER_FILES } from './ledger.ts'

/** What can be left out while one part of the product is being worked on. The defaults leave out nothing. */
export const PARTS = ['person', 'shared', 'unscoped', 'rollback', 'external', 'gates', 'serve'] as const
export type Part = (typeof PARTS)[number]

export type TaskClass = 'pure' | 'workspace' | 'idempotent' | 'probed' | 'unsafe' | 'model'

export interface LoopTask {
  readonly id: string
  readonly class: TaskClass
  /** Its scope; null when it declares none. */
  readonly scope: string | null
  /** The file it leaves, and what its content is made of. */
  readonly file: string | null
  readonly leaves: 'halves' | 'push' | 'agent' | null
  readonly compensated: boolean
  readonly fails: boolean
}

export interface LoopPlan {
  readonly name: string
  readonly document: string
  readonly tasks: readonly LoopTask[]
  readonly gates: number
  readonly onFailure: 'rollback' | 'compensate' | 'keep'
}

export interface Scenario {
  readonly seed: number
  readonly plans: readonly LoopPlan[]
  /** Files that stand in the workspace before anything runs. */
  readonly files: Readonly<Record<string, string>>
  /** Folders in which the person works. Those of one plan only first. */
  readonly areas: readonly string[]
  readonly host: 'processes' | 'serve'
  readonly kills: number
  readonly hasPerson: boolean
}

export const SHARED = 'sc'

export function makeScenario(seed: number, without: ReadonlySet<Part>): Scenario {
  const random = new Random(`kill-loop/${seed}`)
  const names = ['p', 'q', 'r'].slice(0, random.between(2, random.chance(0.25) ? 3 : 2))
  const isShared = !without.has('shared') && random.chance(0.8)
  const plans = names.map(name => makePlan(name, random.fork(name), isShared, without))
  const areas = [...names, SHARED]
  const files: Record<string, string> = { ...LEDGER_FILES, 'top.md': 'the top\n' }
  for (const area of areas)
    for (const file of ['notes.md', 'mine.md', 'old.md']) files[`${area}/${file}`] = `${file} of ${area}, as it was\n`
  for (const { file, leaves } of plans.flatMap(({ tasks }) => tasks))
    if (file !== null && leaves === 'halves') files[file] = 'begin\n'
  return {
    seed,
    plans,
    files,
    areas,
    host: !without.has('serve') && random.chance(0.3) ? 'serve' : 'processes',
    kills: random.between(6, 12),
    hasPerson: !without.has('person') && random.chance(0.75),
  }
}

function makePlan(name: string, random: Random, isShared: boolean, without: ReadonlySet<Part>): LoopPlan {
  const tasks: LoopTask[] = []
  const lines: string[] = []
  const onFailure = random.pick(
    without.has('rollback')
      ? (['keep', 'compensate'] as const)
      : (['rollback', 'rollback', 'compensate', 'keep'] as const),
  )
  const isToFail = random.chance(onFailure === 'rollback' ? 0.7 : 0.25)
  const seconds = () => (random.between(3, 28) / 100).toFixed(2)
  const script = (task: string, verb: string, file: string | null = null): string =>
    JSON.stringify(['bash', 'task.sh', name, task, verb, seconds(), ...(file === null ? [] : [file])])

  const add = (task: LoopTask, keys: readonly string[], needs: readonly string[]): void => {
    tasks.push(task)
    const compensate = task.compensated ? [`compensate: { run: ${script(task.id, 'undo')} }`] : []
    const written = [`id: ${task.id}`, ...(needs.length === 0 ? [] : [`needs: [${needs.join(', ')}]`]), ...keys]
    lines.push(...[...written, ...compensate].map((line, at) => (at === 0 ? `  - ${line}` : `    ${line}`)))
  }

  const work = (id: string, needs: readonly string[]): void => {
    const kinds: TaskClass[] = ['workspace', 'workspace', 'workspace', 'pure']
    if (!without.has('unscoped')) kinds.push('idempotent', 'probed', 'unsafe')
    const kind = random.pick(kinds)
    const compensated = kind !== 'pure' && random.chance(0.25)
    const base = { id, class: kind, compensated, fails: false } as const
    if (kind === 'workspace') {
      const area = isShared && random.chance(0.5) ? SHARED : name
      const file = `${area}/${name}-${id}.txt`
      const isFlaky = random.chance(0.35)
      const keys = [
        `write: ["${area}/**"]`,
        'network: []',
        `run: ${script(id, isFlaky ? 'flaky' : 'append', file)}`,
        ...(isFlaky ? ['retry: { attempts: 3, backoff: 20ms..60ms }'] : []),
      ]
      add({ ...base, scope: `${area}/**`, file, leaves: 'halves' }, keys, needs)
      return
    }
    const leaves = kind !== 'pure' && random.chance(0.5) ? 'push' : null
    const file = leaves === null ? null : `loose/${name}-${id}.txt`
    const keys = [
      `effect: ${kind}`,
      ...(kind === 'probed' ? [`probe: ${script(id, 'probe')}`] : []),
      `run: ${script(id, kind === 'pure' ? 'look' : 'push', file)}`,
    ]
    add({ ...base, scope: null, file, leaves }, keys, needs)
  }

  const first = Array.from({ length: random.between(2, 3) }, (_, at) => `a${at + 1}`)
  for (const id of first) work(id, [])
  const middle: string[] = []
  let gates = 0
  if (!without.has('gates') && random.chance(0.7)) {
    middle.push('g1')
    gates++
    const gate = random.pick([
      'gate: approval',
      'gate: { type: question, question: Which host?, form: [{ name: host, type: text }] }',
      'gate: { type: decision, options: [{ id: one }, { id: two }] }',
    ])
    lines.push('  - id: g1', `    needs: [${first.join(', ')}]`, `    ${gate}`)
  }
  if (!without.has('external') && random.chance(0.5)) {
    middle.push('e1')
    const area = isShared && random.chance(0.5) ? SHARED : name
    const isScoped = without.has('unscoped') || random.chance(0.6)
    const file = `${isScoped ? area : 'loose'}/${name}-e1.txt`
    const task: LoopTask = {
      id: 'e1',
      class: 'model',
      scope: isScoped ? `${area}/**` : null,
      file,
      leaves: 'agent',
      compensated: false,
      fails: false,
    }
    add(task, ['kind: implement', ...(isScoped ? [`write: ["${area}/**"]`] : [])], [random.pick(first)])
  }
  const last = Array.from({ length: random.between(1, 3) }, (_, at) => `b${at + 1}`)
  for (const id of last) work(id, middle.length === 0 ? [random.pick(first)] : middle)
  if (isToFail) {
    const task = {
      id: 'z',
      class: 'pure',
      scope: null,
      file: null,
      leaves: null,
      compensated: false,
      fails: true,
    } as const
    add(task, ['effect: pure', `run: ${script('z', 'fail')}`], [...first, ...middle, ...last])
  }
  const head = ['planfold: 1', `name: ${name}`, `concurrency: ${random.between(1, 3)}`]
  const document = [...head, `policy: { on_failure: ${onFailure} }`, 'tasks:', ...lines, ''].join('\n')
  return { name, document, tasks, gates, onFailure }
}

/** What a task's file holds after these visits have succeeded, without what stood there before. */
export function contentOf(task: LoopTask, visits: readonly number[]): string {
  const last = visits.at(-1)
  if (task.leaves === 'halves')
    return visits.map(visit => `half ${task.id} ${visit}\nwhole ${task.id} ${visit}\n`).join('')
  if (last === undefined) return ''
  return task.leaves === 'agent' ? `by the agent: ${task.id}\n` : `pushed ${task.id} ${last}\n`
}
