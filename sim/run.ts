// One seed, from the drawing of the plan to the verdict: first the safety phase, in which things go wrong, then the liveness
// phase, in which nothing does any more and the plan must come to its end.

import type { Command } from '../src/domain/command.ts'
import type { PlanId } from '../src/domain/id.ts'
import { nextActions } from '../src/domain/next-actions.ts'
import type { Result } from '../src/domain/result.ts'
import type { PlanState } from '../src/domain/state/state.ts'
import { ENDED, PLAN_ENDED } from '../src/domain/status.ts'
import { lazy } from '../src/engine/lazy-imports.ts'
import { EPOCH } from '../src/testing/clock.ts'
import badSeeds from './bad-seeds.json' with { type: 'json' }
import { type Fault, Faults, type Fired } from './faults.ts'
import { Invariants, type Violation } from './invariants.ts'
import { guardGlobals } from './leaks.ts'
import { Machine, SimDisk } from './machine.ts'
import type { Mutant } from './mutants.ts'
import { People } from './people.ts'
import { Random } from './random.ts'
import { drawRecovery } from './recovering.ts'
import { Scheduler } from './scheduler.ts'
import { Books, drawSpending } from './spending.ts'
import { Trace } from './trace.ts'
import { drawWorkload } from './workload.ts'
import { World } from './world.ts'

export interface RunOptions {
  /** Any text; `0x…` by custom. */
  readonly seed: string
  /** How many steps the safety phase takes at most. */
  readonly events?: number
  readonly mutant?: Mutant | null
  /** Keep every line of the trace, not only the last. */
  readonly keepAll?: boolean
  /** Faults that are on whatever the seed says. */
  readonly forced?: readonly Fault[]
  /** Tasks spend money under budgets; `greedy`: also what was refused, which must be found. */
  readonly spenders?: 'honest' | 'greedy'
  /** Handed the disk when all is over: what was written can be read again. */
  readonly onDisk?: (disk: SimDisk) => void
}

export interface Verdict {
  readonly seed: string
  readonly violation: Violation | null
  readonly hash: string
  readonly steps: number
  readonly commits: number
  readonly entries: number
  readonly tasks: number
  readonly completed: number
  /** Rollbacks that came to their end. */
  readonly rollbacks: number
  readonly status: string
  /** How often somebody was asked for more budget, and gave it. */
  readonly asked: number
  readonly raised: number
  readonly fired: Fired
  readonly trace: readonly string[]
}

const EVENTS_DEFAULT = 600
const SAFETY_MS = 15 * 60_000
const LIVENESS_MS = 6 * 60 * 60_000
const LIVENESS_STEPS = 30_000

export async function run(options: RunOptions): Promise<Verdict> {
  // What is loaded on first use would take real time.
  for (const load of Object.values(lazy)) await load()
  const luck = new Random(options.seed)
  const draw = luck.fork('machine')
  const scheduler = new Scheduler(luck.fork('scheduler'))
  const kept = new Trace(options)
  const trace = (line: string) => kept.add(`${(scheduler.now - 1_000_000).toFixed(0).padStart(8)} ${line}`)
  const plain = drawWorkload(luck.fork('workload'))
  // Those that were found before recovery was drawn keep the workload they had.
  const isKnownBad = badSeeds.some(one => one.seed === options.seed && !('recovery' in one))
  const workload =
    options.spenders !== undefined
      ? drawSpending(plain, luck.fork('spending'))
      : isKnownBad
        ? plain
        : drawRecovery(plain, luck.fork('recovery'))
  const faults = new Faults(luck.fork('faults'), [...(options.mutant?.needs ?? []), ...(options.forced ?? [])])
  const disk = new SimDisk()
  const world = new World(scheduler, luck.fork('world'), workload, trace)
  const truth = new Invariants(disk, world, scheduler, trace)
  truth.wallNow = wallNow
  if (options.spenders !== undefined) {
    const books = new Books(what => truth.fail('P48', what))
    truth.books = books
    world.onUse = (task, amount) => books.used(task, amount)
    world.greedy = options.spenders === 'greedy'
  }
  const strays = luck.fork('strays')
  const wall = { offset: 0 }
  const folds = luck.fork('folds')
  const foldRate = folds.pick([0, 0.005, 0.03])
  const machine = new Machine({
    scheduler,
    disk,
    world,
    faults,
    luck,
    trace,
    mutant: options.mutant ?? null,
    sameHost: draw.chance(0.5),
    leaseMs: draw.pick([3_000, 10_000]),
    stay: draw.chance(0.5),
    wall,
    truth: () => truth.mirror,
    ledger: {
      passed: (process, asked) => truth.passed(process, asked),
      acknowledged: (_process, _plan, updated) => truth.acknowledged(updated),
      strays: command => withStrays(command, truth, faults, strays),
    },
  })
  disk.onCommit = () => {
    truth.committed()
    machine.diskMoved()
  }
  const people = new People({ scheduler, machine, world, truth, faults, workload, luck: luck.fork('people'), trace })
  const unguard = guardGlobals(what => truth.fail('leak', what))
  const onRejection = (error: unknown) =>
    truth.fail('crashed', `nobody caught: ${error instanceof Error ? error.stack : String(error)}`)
  process.on('unhandledRejection', onRejection)
  try {
    await perform()
  } catch (error) {
    truth.fail('crashed', error instanceof Error ? (error.stack ?? error.message) : String(error))
  } finally {
    process.off('unhandledRejection', onRejection)
    unguard()
  }
  trace(`world ${world.digest()}`)
  options.onDisk?.(disk)
  const { mirror } = truth
  return {
    seed: options.seed,
    violation: truth.violation,
    hash: kept.hash,
    steps: scheduler.steps,
    commits: truth.commits,
    entries: truth.entries.length,
    tasks: mirror.order.length,
    completed: truth.completed,
    rollbacks: truth.travel.finished,
    status: mirror.status,
    asked: truth.books?.questions ?? 0,
    raised: truth.books?.raises ?? 0,
    fired: faults.fired,
    trace: options.keepAll === true ? kept.all() : kept.last(),
  }

  async function perform(): Promise<void> {
    trace(`faults: ${faults.on.join(' ')}`)
    const plan = await begin()
    faults.arm()
    const count = draw.pick([1, 2, 2, 3])
    machine.start(plan, count)
    for (const process of machine.all) process.unexpected = what => truth.fail('crashed', `${process.name} ${what}`)
    people.begin()
    await safety()
    if (truth.violation !== null) return
    trace('all is healed')
    faults.heal()
    machine.heal()
    people.fallSilent()
    const at = scheduler.now
    if (!(await within(at + LIVENESS_MS, () => nextActions(truth.mirror, wallNow()).rest !== null)))
      return truth.fail('L', 'it neither ended nor came to wait for somebody')
    trace('people answer')
    people.settleDown()
    if (!(await within(scheduler.now + LIVENESS_MS, () => PLAN_ENDED.has(truth.mirror.status))))
      return truth.fail('L', `everybody answered and it is still ${truth.mirror.status}; ${open(truth.mirror)}`)
    if (truth.violation === null) truth.last()
  }

  function wallNow(): number {
    return EPOCH + Math.floor(scheduler.now) + wall.offset
  }

  async function begin(): Promise<PlanId> {
    const { engine } = machine.desk
    let plan: PlanId | null = null
    let started = false
    void engine!.submit(null, { type: 'create', definition: workload.definition }).then(async created => {
      if (!created.ok) throw new Error(`the plan was refused: ${created.refusal.message}`)
      plan = created.plan
      const submitted = await engine!.submit(created.plan, { type: 'start' })
      if (!submitted.ok) throw new Error(`starting was refused: ${submitted.refusal.message}`)
      started = true
    })
    for (let step = 0; step < 100 && !started && truth.violation === null; step++) await scheduler.step()
    if (plan === null || !started) throw new Error('the plan could not be made')
    return plan
  }

  async function safety(): Promise<void> {
    const until = scheduler.now + SAFETY_MS
    const last = scheduler.steps + (options.events ?? EVENTS_DEFAULT)
    let ended = 0
    while (scheduler.steps < last && scheduler.now < until && truth.violation === null) {
      machine.disturb()
      machine.reviveEnded()
      if (folds.chance(foldRate)) truth.storeFold()
      if ((await scheduler.step()) === null) return
      // Ended for good: a while longer, for late messages and people who come back.
      if (PLAN_ENDED.has(truth.mirror.status) && ++ended > 60) return
    }
  }

  async function within(until: number, done: () => boolean): Promise<boolean> {
    const last = scheduler.steps + LIVENESS_STEPS
    while (truth.violation === null && !done()) {
      if (scheduler.now >= until || scheduler.steps >= last) return false
      machine.reviveEnded()
      if ((await scheduler.step()) === null) return false
    }
    return true
  }
}

/** A turn with completions in it that come late or twice: for attempts that have ended, with whatever result. */
function withStrays(command: Command, truth: Invariants, faults: Faults, luck: Random): Command {
  if (command.type !== 'turn' || truth.over.length === 0) return command
  const settled = [...(command.settled ?? [])]
  for (const [how, fault] of [
    ['lost', 'late-completion'],
    ['settled', 'duplicate-completion'],
  ] as const) {
    const over = truth.over.filter(attempt => attempt.how === how)
    if (over.length === 0 || !faults.hit(fault)) continue
    const { task, visit, attempt } = luck.pick(over)
    const result: Result = luck.chance(0.5)
      ? { status: 'succeeded' }
      : { status: 'failed', failure: { class: 'logic', message: 'a late no', retryable: true } }
    settled.splice(luck.between(0, settled.length), 0, { task, visit, attempt, result })
  }
  return settled.length === 0 ? command : { ...command, settled }
}

/** The tasks that have not ended, and how they stand. */
function open({ order, questions }: PlanState): string {
  const tasks = order
    .filter(({ status }) => !ENDED.has(status))
    .map(({ definition, status, claim }) => `'${definition.id}' is ${status}${claim === null ? '' : ', claimed'}`)
  return [...tasks, `${questions.length} questions`].join(', ')
}

/** What to print when a seed fails: how to have it again, what broke, where, and what came before. */
export function failureText(verdict: Verdict): string {
  const { violation, seed, trace } = verdict
  if (violation === null) return ''
  return [
    `${violation.invariant} is violated: ${violation.what}`,
    `  first seen at: ${violation.at}`,
    `  again with:    npm run sim -- --seed ${seed}`,
    '  the last steps:',
    ...trace.map(line => `    ${line}`),
  ].join('\n')
}
