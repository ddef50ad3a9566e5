// `planfold converge PLAN|FILE`: rounds of judging the definition of done and adding tasks for what does not hold
// (operations/converge-plan.ts), printed as they go. Calling it again continues.

import type { Composed } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { unmetIn } from '../../../domain/views/convergence.ts'
import type { Engine } from '../../../engine/engine.ts'
import {
  type ConvergeStep,
  type Converging,
  convergePlan,
  endedPlan,
  type NotConverged,
  type PlanConverged,
} from '../../../operations/converge-plan.ts'
import type { PlanTarget } from '../../../operations/find-target.ts'
import { howToStartOver } from '../../../operations/run-plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { CliError, type Context, EXIT, envelope, print, printNote, refused, withState } from '../../command.ts'
import { drive } from '../../drive.ts'
import { findPlan } from '../../find-target.ts'
import { isFile, refuseUnreadablePolicy } from '../../plan-file.ts'
import { shownState } from '../../text/plan-state.ts'
import { claimNext } from '../../text/run-summary.ts'
import { setMoving, unsafeOf } from '../plans/run.ts'

export interface ConvergeOptions {
  readonly with?: string
  readonly rounds: number
  readonly timeout?: number
  readonly wait?: boolean
  readonly repeat?: boolean
  readonly keepDone?: boolean
}

export async function converge(context: Context, word: string, options: ConvergeOptions): Promise<number> {
  if (!(await isFile(context, word)))
    return await withState(context, { create: false }, async composed => {
      const target = await findPlan(composed.engine, word)
      return await rounds(context, composed, target, options)
    })
  const { readPlanFile, refuseSketch } = await import('../../plan-file.ts')
  const file = await readPlanFile(context, word)
  refuseSketch(file)
  return await withState(context, { create: true }, async composed => {
    const over = await endedPlan(composed.engine, file.definition.name)
    if (over !== null) return await rounds(context, composed, over, options)
    const { takeUp } = await import('../plans/run.ts')
    return await rounds(context, composed, await takeUp(context, composed, file, options), options)
  })
}

async function rounds(
  context: Context,
  composed: Composed,
  { plan, name }: PlanTarget,
  options: ConvergeOptions,
): Promise<number> {
  const { timeout, wait } = options
  const over = new AbortController()
  const until = over.signal
  const deadline = context.now() + (timeout ?? Number.POSITIVE_INFINITY)
  const timer = timeout === undefined ? undefined : setTimeout(() => over.abort(), timeout)
  try {
    const done = await convergePlan(
      {
        engine: composed.engine,
        setMoving: async ({ goOn }) => {
          const again = goOn ? { goOn: { rationale: `run ${name}`, ...unsafeOf(options) } } : {}
          await setMoving(context, composed, { plan, name, ...again })
        },
        drive: async since =>
          await drive(context, composed, { plan, name, since, wait: wait === true, until, brief: true }),
        tell: step => tellStep(context, step),
        timeLeft: () => deadline - context.now(),
        until,
      },
      plan,
      { rounds: options.rounds, script: options.with },
    )
    return await tellEnd(context, composed, { plan, name }, done, options)
  } finally {
    clearTimeout(timer)
  }
}

function tellStep(context: Context, step: ConvergeStep): void {
  if (step.type === 'added') {
    printNote(context, `round ${step.round}: ${numberOf(step.tasks, 'task')} added as revision ${step.revision ?? ''}`)
    return
  }
  if (context.settings.json) return
  const { known, unmet } = step
  const what =
    unmet.length === 0
      ? 'all checks passed'
      : `${unmet.length} of ${numberOf(known.verdicts.length, 'check')} did not pass`
  print(context, [`round ${known.round}: ${what}`, ...known.verdicts.map(verdict => verdictLine(context, verdict))])
}

function verdictLine({ paint }: Context, { criterion, holds, evidence = '' }: Converging['verdicts'][number]): string {
  const mark = holds === true ? paint.green('✓') : holds === false ? paint.red('✗') : '?'
  const [first = ''] = evidence.split('\n')
  return `  ${mark} ${escapeForTerminal(criterion)}${first === '' ? '' : paint.dim(` (${escapeForTerminal(first)})`)}`
}

async function tellEnd(
  context: Context,
  { engine }: Composed,
  target: PlanTarget,
  done: PlanConverged<number>,
  options: ConvergeOptions,
): Promise<number> {
  const { name } = target
  switch (done.status) {
    case 'converged': {
      const { plan: status, known } = done
      const isDone = status === 'completed'
      tell(context, target, { converged: true, status, round: known.round, unmet: [], why: null }, [
        isDone
          ? `${name} is done: ${holding(known.criteria)} in round ${known.round}`
          : `${holding(known.criteria)}, but ${name} is ${status}. Next: planfold status ${name}`,
      ])
      return isDone ? EXIT.done : EXIT.failed
    }
    case 'not-converged': {
      const { round, verdicts } = done.known
      const { why, hint } = wordsFor(name, done.why)
      const unmet = unmetIn(verdicts)
      tell(context, target, { converged: false, round, unmet, code: done.why.code, why, hint }, [
        `${name} stopped: ${why}`,
        ...unmet.map(verdict => verdictLine(context, verdict)),
        `  ${hint.replaceAll('PLAN', name)}`,
      ])
      return EXIT.failed
    }
    case 'rests':
      if (done.rest === EXIT.waits) {
        const { words, first } = await waitOf(engine, target)
        const hint = `${first}, then planfold converge ${name}`
        const data = { converged: false, unmet: null, code: 'waits', why: words, hint }
        tell(context, target, data, [
          `${name} is ${words}. Next: ${hint}`,
          ...(options.with === undefined
            ? []
            : ['  --with is for the tasks that converge adds; it does nothing for this one']),
        ])
      }
      return done.rest
    case 'unfit':
      throw await unfit(engine, target, done.why)
    case 'refused':
      await refuseUnreadablePolicy(context, done.refusal)
      throw refused(done.refusal)
    default:
      return done satisfies never
  }
}

async function waitOf(
  engine: Engine,
  { plan, name }: PlanTarget,
): Promise<{ readonly words: string; readonly first: string }> {
  const held = (await engine.ask({ type: 'next', plan }))?.held ?? []
  const summary = await engine.ask({ type: 'summary', plan })
  const board = (await engine.ask({ type: 'board', plan })) ?? []
  if (summary === null) throw new Error(`the plan ${plan} has gone`)
  const isDriven = summary.holder?.alive === true
  const { words } = shownState({ summary, board, isDriven, held })
  return { words, first: claimNext(summary, board, { isDriven, held }) ?? `see planfold status ${name}` }
}

function tell(
  context: Context,
  { plan, name }: PlanTarget,
  data: Readonly<Record<string, unknown>>,
  lines: readonly string[],
): void {
  if (context.settings.json) context.stdout.write(envelope({ data: { type: 'convergence', plan, name, ...data } }))
  else print(context, lines)
}

async function unfit(engine: Engine, { plan, name }: PlanTarget, why: 'no-criteria' | 'cancelled'): Promise<CliError> {
  if (why === 'no-criteria')
    return new CliError(
      EXIT.refused,
      'not-ready',
      `plan '${name}' has no checks under 'done:', so there is nothing to converge to`,
      "add checks under 'done:', for example `- check: npm test`",
    )
  const hint = await howToStartOver(engine, plan)
  return new CliError(EXIT.refused, 'ended', `plan '${name}' was cancelled`, hint)
}

const holding = (count: number): string => (count === 1 ? 'its one check passed' : `all ${count} checks passed`)

function wordsFor(name: string, ended: NotConverged): { readonly why: string; readonly hint: string } {
  switch (ended.code) {
    case 'timeout':
      return { why: 'the time is over', hint: 'Next: planfold converge PLAN' }
    case 'no-progress':
      return {
        why: 'the last round changed nothing',
        hint: 'see planfold log PLAN --output, fix it, then planfold converge PLAN',
      }
    case 'rounds':
      return {
        why: `${numberOf(ended.made, 'round is', 'rounds are')} over`,
        hint: `fix the failing checks, or allow more rounds: planfold converge ${name} --rounds ${ended.made + 5}`,
      }
    case 'budget':
      return {
        why: `the budget is used up: ${ended.spent}`,
        hint: 'raise `policy.budget` in the plan file, or finish manually',
      }
    default:
      return ended satisfies never
  }
}
