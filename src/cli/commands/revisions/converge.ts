// `planfold converge PLAN|FILE`: judges the definition of done, adds a task for each criterion that does not hold, drives the plan,
// and judges again, until all hold or nothing more is to be tried. Every step is in the journal before the next one begins, so
// whoever calls it again goes on where it was.
//
//   drive ──► judge ──► all hold ──► 0
//     ▲         └─────► rounds, budget or time used up, or nothing moves ──► 1
//     └── add tasks ◄── something does not

import type { Composed } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { PLAN_ENDED, type PlanStatus, type TaskStatus } from '../../../domain/status.ts'
import { unmetIn } from '../../../domain/views/convergence.ts'

import type { AnswerOf } from '../../../engine/engine.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { envelope, print, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { drive } from '../../drive.ts'
import { CliError, EXIT } from '../../exit.ts'
import { findPlan } from '../../find-target.ts'
import { submit } from '../../order.ts'

import { isFile } from '../../plan-file.ts'
import { setMoving, unsafeOf, versionOf } from '../plans/run.ts'

export interface ConvergeOptions {
  /** A script for each criterion that does not hold; without it, whoever claims the task makes it hold. */
  readonly with?: string
  readonly rounds: number
  readonly timeout?: number
  readonly wait?: boolean
  /** Of a plan that failed and goes on: do once more, or leave done, what is unsafe to repeat and would run again. */
  readonly repeat?: boolean
  readonly keepDone?: boolean
}

const BROKEN: ReadonlySet<TaskStatus> = new Set(['failed', 'abandoned', 'cancelled'])

type Converging = NonNullable<AnswerOf<'converging'>>
type Plan = Parameters<typeof drive>[2]['plan']

export async function converge(context: Context, word: string, options: ConvergeOptions): Promise<number> {
  if (!(await isFile(context, word)))
    return await withState(context, { create: false }, async composed => {
      const { plan, name } = await findPlan(composed.engine, word)
      return await new Rounds(context, composed, plan, name, options).run()
    })
  const { readPlanFile, refuseSketch } = await import('../../plan-file.ts')
  const file = await readPlanFile(context, word)
  refuseSketch(file)
  return await withState(context, { create: true }, async composed => {
    // What has come to its end is taken up again and not run afresh: its rounds are part of it.
    const there = await composed.engine.ask({ type: 'summary', plan: file.definition.name })
    if (there?.status === 'completed' || there?.status === 'cancelled')
      return await new Rounds(context, composed, there.id, there.name, options).run()
    const { takeUp } = await import('../plans/run.ts')
    const { plan, name } = await takeUp(context, composed, file, options)
    return await new Rounds(context, composed, plan, name, options).run()
  })
}

class Rounds {
  readonly #context: Context
  readonly #composed: Composed
  readonly #plan: Plan
  readonly #name: string
  readonly #options: ConvergeOptions
  readonly #until = new AbortController()
  readonly #deadline: number

  constructor(context: Context, composed: Composed, plan: Plan, name: string, options: ConvergeOptions) {
    this.#context = context
    this.#composed = composed
    this.#plan = plan
    this.#name = name
    this.#options = options
    this.#deadline = context.now() + (options.timeout ?? Number.POSITIVE_INFINITY)
  }

  async run(): Promise<number> {
    const { timeout } = this.#options
    const timer = timeout === undefined ? null : setTimeout(() => this.#until.abort(), timeout)
    try {
      await this.#refuseUnfit()
      await this.#goOn()
      return await this.#rounds()
    } finally {
      if (timer !== null) clearTimeout(timer)
    }
  }

  /** What failed is tried again first. Where only the definition of done did not hold, it is judged in the round anyway. */
  async #goOn(): Promise<void> {
    if ((await this.#status()) !== 'failed') return
    const board = (await this.#composed.engine.ask({ type: 'board', plan: this.#plan })) ?? []
    if (!board.some(({ action, status, optional }) => action !== 'verify' && !optional && BROKEN.has(status))) return
    const goOn = { rationale: `run ${this.#name}`, ...unsafeOf(this.#options) }
    await setMoving(this.#context, this.#composed, { plan: this.#plan, name: this.#name, goOn })
  }

  async #rounds(): Promise<number> {
    for (;;) {
      const status = await this.#drive()
      if (typeof status === 'number') return status
      if (this.#until.signal.aborted) return this.#end(await this.#known(), TIME)
      // Judged anew each time, also after it was cut off: files move without the journal.
      const known = await this.#judge()
      const unmet = unmetIn(known.verdicts)
      if (unmet.length === 0) return await this.#converged(known)
      if (known.isStuck) return this.#end(known, STUCK)
      if (known.made >= this.#options.rounds)
        return this.#end(known, {
          code: 'rounds',
          why: `${numberOf(known.made, 'round is', 'rounds are')} over`,
          hint: `look at what does not hold, or allow more: planfold converge ${this.#name} --rounds ${known.made + 5}`,
        })
      if (known.spent !== null)
        return this.#end(known, {
          code: 'budget',
          why: `the budget is used up: ${known.spent}`,
          hint: 'raise `policy.budget` in a revision, or finish by hand',
        })
      if (this.#until.signal.aborted) return this.#end(known, TIME)
      const { with: script } = this.#options
      const accepted = await submit(this.#composed, this.#plan, {
        type: 'append',
        ...(script === undefined ? {} : { with: script }),
      })
      const revised = accepted.events.find(event => event.type === 'plan.revised')
      printNote(
        this.#context,
        `round ${known.round}: ${numberOf(unmet.length, 'task')} added as revision ${revised?.revision ?? ''}`,
      )
    }
  }

  /** To its end, or until it rests; an exit code when it waits for somebody or was interrupted. */
  async #drive(): Promise<PlanStatus | number> {
    const status = await this.#status()
    if (PLAN_ENDED.has(status)) return status
    const since = await this.#version()
    await setMoving(this.#context, this.#composed, { plan: this.#plan, name: this.#name })
    const exit = await drive(this.#context, this.#composed, {
      plan: this.#plan,
      name: this.#name,
      since,
      wait: this.#options.wait === true,
      until: this.#until.signal,
      brief: true,
    })
    const after = await this.#status()
    if (PLAN_ENDED.has(after) || this.#until.signal.aborted) return after
    if (exit === EXIT.waits) this.#waits()
    return exit
  }

  async #judge(): Promise<Converging> {
    const left = this.#deadline - this.#context.now()
    await submit(this.#composed, this.#plan, {
      type: 'assess',
      ...(Number.isFinite(left) ? { timeoutMs: Math.max(1, left) } : {}),
    })
    const known = await this.#known()
    const unmet = unmetIn(known.verdicts)
    const what =
      unmet.length === 0
        ? 'all criteria hold'
        : `${unmet.length} of ${numberOf(known.verdicts.length, 'criterion', 'criteria')} ${unmet.length === 1 ? 'does' : 'do'} not hold`
    this.#say([`round ${known.round}: ${what}`, ...known.verdicts.map(verdict => this.#line(verdict))])
    return known
  }

  #line({ criterion, holds, evidence = '' }: Converging['verdicts'][number]): string {
    const { paint } = this.#context
    const mark = holds === true ? paint.green('✓') : holds === false ? paint.red('✗') : '?'
    const [first = ''] = evidence.split('\n')
    return `  ${mark} ${escapeForTerminal(criterion)}${first === '' ? '' : paint.dim(` (${escapeForTerminal(first)})`)}`
  }

  /** All of it holds. What has failed meanwhile is tried once more, so that the plan itself can end as done. */
  async #converged(known: Converging): Promise<number> {
    if ((await this.#status()) === 'failed') {
      const board = (await this.#composed.engine.ask({ type: 'board', plan: this.#plan })) ?? []
      const failed = board.filter(card => card.status === 'failed')
      for (const { name: task } of failed)
        await submit(this.#composed, this.#plan, { type: 'retry', task, reason: 'all criteria hold now' })
      if (failed.length > 0) {
        const status = await this.#drive()
        if (typeof status === 'number') return status
      }
    }
    const status = await this.#status()
    const isDone = status === 'completed'
    this.#tell({ converged: true, status, round: known.round, unmet: [], why: null }, [
      isDone
        ? `${this.#name} has converged: ${holding(known.criteria)} after ${numberOf(known.round, 'round')}`
        : `${holding(known.criteria)}, but ${this.#name} is ${status}; see: planfold status ${this.#name}`,
    ])
    return isDone ? EXIT.done : EXIT.failed
  }

  #end({ round, verdicts }: Converging, { code, why, hint }: NotConverged): number {
    const unmet = unmetIn(verdicts)
    this.#tell({ converged: false, round, unmet, code, why, hint }, [
      `${this.#name} has not converged: ${why}`,
      ...unmet.map(verdict => this.#line(verdict)),
      `  ${hint.replaceAll('PLAN', this.#name)}`,
    ])
    return EXIT.failed
  }

  #waits(): void {
    const again = `planfold converge ${this.#name}`
    this.#tell({ converged: false, unmet: null, code: 'waits', why: 'it waits for somebody', hint: again }, [
      `${this.#name} waits for somebody; planfold next ${this.#name} says for what. Then go on with: ${again}`,
    ])
  }

  #tell(data: Readonly<Record<string, unknown>>, lines: readonly string[]): void {
    if (this.#context.settings.json)
      this.#context.stdout.write(
        envelope({ data: { type: 'convergence', plan: this.#plan, name: this.#name, ...data } }),
      )
    else print(this.#context, lines)
  }

  #say(lines: readonly string[]): void {
    if (!this.#context.settings.json) print(this.#context, lines)
  }

  async #refuseUnfit(): Promise<void> {
    const known = await this.#known()
    if (known.criteria === 0)
      throw new CliError(
        EXIT.refused,
        'not-ready',
        `'${this.#name}' does not say when it is done, so there is nothing to converge to`,
        "write criteria under 'done:', e.g. `- check: npm test`",
      )
    const status = await this.#status()
    if (status === 'cancelled')
      throw new CliError(EXIT.refused, 'ended', `'${this.#name}' was cancelled`, 'run its document afresh')
  }

  async #known(): Promise<Converging> {
    const known = await this.#composed.engine.ask({ type: 'converging', plan: this.#plan })
    if (known === null) throw new Error(`the plan ${this.#plan} has gone`)
    return known
  }

  async #status(): Promise<PlanStatus> {
    return (await this.#composed.engine.ask({ type: 'summary', plan: this.#plan }))?.status ?? 'draft'
  }

  #version(): Promise<number> {
    return versionOf(this.#composed, this.#plan)
  }
}

interface NotConverged {
  readonly code: string
  readonly why: string
  readonly hint: string
}

const holding = (count: number): string => (count === 1 ? 'its one criterion holds' : `all ${count} criteria hold`)

const TIME: NotConverged = {
  code: 'timeout',
  why: 'the time is over',
  hint: 'go on with: planfold converge PLAN',
}
const STUCK: NotConverged = {
  code: 'no-progress',
  why: 'the last round changed nothing about what does not hold',
  hint: 'look at it by hand: planfold log PLAN --output; then planfold converge PLAN',
}
