// `planfold pause`, `planfold cancel` and `planfold halt`: the three ways to stop plans.

import type { Composed } from '../../../compose.ts'
import type { PlanId } from '../../../domain/id.ts'
import type { Halt } from '../../../engine/engine.ts'
import { openPlans } from '../../../operations/find-target.ts'
import { readJournal } from '../../../operations/read-journal.ts'
import { pauseSession } from '../../../operations/session-plans.ts'
import { escapeForTerminal, shellWord } from '../../../safety/text/terminal.ts'
import type { PlanRow } from '../../../stores/store.ts'
import { answer, printNote } from '../../answer.ts'
import { type Context, withState } from '../../context.ts'
import { drive, unsafeRunning } from '../../drive.ts'
import { CliError, declined, EXIT, notConfirmed, usage } from '../../exit.ts'
import { demandSession, findPlan } from '../../find-target.ts'
import { printAccepted, remarkHowToGoOn, sendNotifications, submit } from '../../order.ts'
import { confirm } from '../../terminal/confirm.ts'

export interface HaltOptions {
  readonly message?: string
  readonly lift?: true
  readonly show?: true
}

export async function halt(context: Context, { message, lift, show }: HaltOptions): Promise<number> {
  if (lift === true && show === true) throw usage('--lift and --show cannot be used together', 'use one of them')
  return await withState(context, { create: false }, async ({ engine }) => {
    if (show === true || lift === true) {
      const halted = show === true ? await engine.killSwitch.halted() : await engine.killSwitch.lift()
      const paused = (await openPlans(engine, RESUMED_MAX)).filter(({ status }) => status === 'paused')
      answer(context, { halted: show === true ? halted : null, was: halted }, () =>
        halted === null
          ? 'nothing is halted'
          : show === true
            ? words(halted)
            : [`lifted; it was ${words(halted)}`, ...staysPaused(paused)],
      )
      return EXIT.done
    }
    const before = await engine.killSwitch.halted()
    const halted = await engine.killSwitch.halt(message ?? null)
    const { paused, already, left } = halted
    answer(context, { halted }, () => [
      before === null ? words(halted) : `already ${words(halted)}`,
      ...(before === null || message === undefined || message === halted.reason ? [] : [REASON_KEPT]),
      ...(paused.length === 0 ? [] : [`paused: ${paused.join(', ')}`]),
      ...(paused.length + already.length + left.length === 0 ? ['no plan was unfinished'] : []),
      ...(already.length === 0 ? [] : [`paused already: ${already.join(', ')}`]),
      ...left.map(({ name, why }) => `${name} could not be paused: ${escapeForTerminal(why)}`),
    ])
    printNote(context, 'Nothing starts until it is lifted. Next: planfold halt --lift')
    return left.length === 0 ? EXIT.done : EXIT.refused
  })
}

const RESUMED_MAX = 200

function staysPaused([first, ...others]: readonly PlanRow[]): readonly string[] {
  if (first === undefined) return []
  if (others.length === 0) return [`${first.name} stays paused. Next: planfold resume ${first.name}`]
  return [`${others.length + 1} plans stay paused. Next: planfold resume --all`]
}

const REASON_KEPT = 'your reason was not recorded; to change the reason, lift the halt and halt again'

const words = ({ by, at, reason }: Halt): string =>
  `halted by ${escapeForTerminal(by)} at ${new Date(at).toISOString()}${reason === null ? '' : `: ${escapeForTerminal(reason)}`}`

export interface CancelOptions {
  readonly force?: boolean
  readonly message?: string
  readonly yes?: boolean
}

export async function cancel(
  context: Context,
  word: string | undefined,
  { force, message: reason, yes }: CancelOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await findPlan(composed.engine, word)
    if (word === undefined && yes !== true && !(await isConfirmed(context, name))) throw declined('nothing was changed')
    printAccepted(context, await submit(composed, plan, { type: 'cancel', force, reason }))
    const summary = await composed.engine.ask({ type: 'summary', plan })
    if (summary === null || summary.endedAt !== null || summary.holder?.alive === true) {
      await sendNotifications(composed, plan)
      return EXIT.done
    }
    // No other process drives it, so stopping and undoing is done here, and there is no next step to print.
    await drive(context, composed, { plan, name, since: summary.version, wait: false })
    const failed = await failedSince(composed, plan, summary.version)
    if (failed.length > 0)
      throw new CliError(
        EXIT.failed,
        'compensation-failed',
        `plan '${name}' was cancelled, but ${failed.map(({ task, why }) => `the undo step of '${task}' failed: ${why}`).join('; ')}`,
        `undo it manually; its output: planfold log ${name} ${failed[0]!.task} --output`,
      )
    const after = await composed.engine.ask({ type: 'summary', plan })
    return after?.status === 'cancelled' ? EXIT.done : EXIT.waits
  })
}

/** Cancelling a plan without naming it needs consent: an answer at a terminal, in a script `--yes`. */
async function isConfirmed(context: Context, name: string): Promise<boolean> {
  if (context.terminal !== null && !context.settings.json) return await confirm(context, `cancel ${name} for good?`)
  throw notConfirmed(
    `nothing was changed: this cancels '${name}' for good, and without its name and a terminal that needs --yes`,
    `name it: planfold cancel ${name}, or add --yes`,
  )
}

async function failedSince(
  { engine }: Composed,
  plan: PlanId,
  version: number,
): Promise<readonly { readonly task: string; readonly why: string }[]> {
  const failed: { task: string; why: string }[] = []
  for await (const entries of readJournal(engine, plan, version))
    for (const event of entries.flatMap(({ events }) => events)) {
      if (event.type === 'compensation.finished' && event.result.status === 'failed')
        failed.push({ task: event.task, why: event.result.failure.message })
    }
  return failed
}

export interface PauseOptions {
  readonly message?: string
  readonly force?: true
  readonly session?: string
}

export async function pause(context: Context, word: string | undefined, options: PauseOptions): Promise<number> {
  const { session, force, message: reason } = options
  const said = { force, reason }
  return await withState(context, { create: false }, async composed => {
    if (session !== undefined) {
      await demandSession(composed.engine, session, word)
      return await pauseAll(context, composed, session, said)
    }
    const { plan, name } = await findPlan(composed.engine, word)
    const accepted = await submit(composed, plan, { type: 'pause', ...said })
    printAccepted(context, accepted, `${name} is already paused`)
    await remarkHowToGoOn(context, composed, plan)
    const unsafe = said.force === true ? [] : await unsafeRunning(composed, plan)
    if (unsafe.length > 0)
      printNote(
        context,
        `${unsafe.join(', ')} still ${unsafe.length === 1 ? 'runs' : 'run'}: unsafe to interrupt (planfold pause ${name} --force stops it)`,
      )
    return EXIT.done
  })
}

async function pauseAll(
  context: Context,
  { engine }: Composed,
  session: string,
  said: { readonly reason?: string; readonly force?: true },
): Promise<number> {
  const room = {
    engine,
    submit: (plan: string, order: Parameters<typeof engine.submit>[1]) => engine.submit(plan, order),
  }
  const { moved, refused } = await pauseSession(room, session, said)
  const paused = moved.map(({ plan, name, version }) => ({ plan, name, version }))
  answer(context, { session, paused, refused }, () =>
    paused.length === 0
      ? `session '${session}' has no running plan`
      : `paused: ${paused.map(({ name }) => name).join(', ')}; next: planfold resume --session ${shellWord(session)}`,
  )
  for (const { name, refusal } of refused) printNote(context, `${name}: ${refusal.message}`)
  return refused.length === 0 ? EXIT.done : EXIT.refused
}
