// The commands for the claim of a task, and the two that get a task moving again, retry and skip.

import type { Composed } from '../../../compose.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import { REPEAT } from '../../../domain/rules/unsafe-repeat.ts'
import type { Unaccepted } from '../../../domain/views/board.ts'
import { type ClaimAsk, claimTask, claimWhenReady } from '../../../operations/claim-task.ts'
import { keepClaim } from '../../../operations/report-task.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, printNote, refused, usage, withDir, withState } from '../../command.ts'
import { findPlanOrTask, findTask } from '../../find-target.ts'
import { type Accepted, orderAndTell, printAccepted, remarkHowToGoOn } from '../../order.ts'
import { refuseUnreadablePolicy } from '../../plan-file.ts'
import { askYesNo } from '../../terminal/confirm.ts'
import { elapsed } from '../../terminal/elapsed-time.ts'
import { briefingLines, judgedLines } from '../../text/briefing-text.ts'
import { hintText } from '../../text/hint-text.ts'

// `planfold retry PLAN TASK`: runs again an ended task (a new visit, which reopens an ended plan), one that waits for its next
// attempt, and one whose outcome is unknown. Before completed unsafe work is repeated, it asks at the terminal; without one it needs
// `--repeat`.

export async function retry(
  context: Context,
  first: string,
  second: string | undefined,
  { message: reason, repeat = false }: { readonly message?: string; readonly repeat?: boolean },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await findTask(composed.engine, first, second)
    const again = { type: 'retry', task, reason } as const
    const order = async (mayRepeat: boolean) =>
      await composed.engine.submit(plan, mayRepeat ? { ...again, repeat: true } : again)
    let done = await order(repeat)
    if (!done.ok && done.refusal.allowed?.includes(REPEAT) === true) {
      const { message } = done.refusal
      if (await askYesNo(context, `${escapeForTerminal(message)}. Do it again?`)) done = await order(true)
    }
    if (!done.ok) {
      await refuseUnreadablePolicy(context, done.refusal)
      throw refused(done.refusal)
    }
    printAccepted(context, done)
    await remarkHowToGoOn(context, composed, done.plan)
    return EXIT.done
  })
}

export interface DoneOptions {
  readonly token?: string
  /** `name=value`; a value that is JSON is taken as such. */
  readonly output?: readonly string[]
  readonly outputs?: string
  readonly outcome?: string
  readonly notMine?: readonly string[]
}

export function remarkUnaccepted(
  context: Context,
  { verdicts, kept, failure }: Unaccepted,
  {
    name,
    task,
    claim,
    again,
  }: {
    readonly name: string
    readonly task: string
    readonly claim: Accepted['claim']
    readonly again: string
  },
): void {
  for (const { criterion, evidence } of verdicts.filter(({ holds }) => holds === false).slice(1))
    printNote(
      context,
      `check failed: ${escapeForTerminal(`${criterion}${evidence === undefined ? '' : ` (${evidence})`}`)}`,
    )
  if (!kept) return
  if (failure.hint !== undefined && verdicts.length === 0) printNote(context, `hint: ${hintText(failure.hint)}`)
  const long = claim === undefined ? '' : ` for ${elapsed(claim.expiresInMs)}`
  printNote(context, `${task} is still yours${long}: fix it, then report again. Next: ${again}`)
  printNote(context, `or give it back: planfold claim ${name} ${task} --release`)
}

export async function outputsOf(
  context: Context,
  options: Pick<DoneOptions, 'output' | 'outputs'>,
): Promise<JsonObject | null> {
  if (options.output === undefined && options.outputs === undefined) return null
  const fromFile = options.outputs === undefined ? {} : await readOutputs(context, options.outputs)
  return { ...fromFile, ...Object.fromEntries((options.output ?? []).map(pair)) }
}

async function readOutputs(context: Context, path: string): Promise<JsonObject> {
  const { readText } = await import('../../plan-file.ts')
  const { readDocument } = await import('../../../format/text/document.ts')
  const read = readDocument(await readText(context, path))
  if (!read.ok) {
    const first = read.diagnostics[0]
    throw usage(
      `${path}:${first?.line ?? 1}:${first?.column ?? 1}: ${first?.message ?? 'not JSON'}`,
      first?.hint ?? 'write a JSON object',
    )
  }
  const { value } = read.document
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw usage(`${path} is not a JSON object`, 'write {"name": value, …}')
  return value as JsonObject
}

function pair(text: string): readonly [string, Json] {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`'${text}' is not an output`, 'write --output name=value')
  const name = text.slice(0, at)
  if (name === '__proto__') throw usage(`an output cannot be called '${name}'`, 'choose another name')
  const value = text.slice(at + 1)
  try {
    return [name, JSON.parse(value) as Json]
  } catch {
    return [name, value]
  }
}

export async function skip(
  context: Context,
  first: string,
  second: string | undefined,
  options: { readonly message: string },
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await findTask(composed.engine, first, second)
    await orderAndTell(context, composed, plan, { type: 'skip', task, reason: options.message })
    return EXIT.done
  })
}

export interface ClaimOptions {
  readonly lease?: number
  readonly wait?: boolean
  readonly timeout?: number
  readonly extend?: boolean
  readonly token?: string
  readonly release?: boolean
  readonly message?: string
}

export async function claim(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: ClaimOptions,
): Promise<number> {
  if (options.extend === true) return await extend(context, first, second, options)
  if (options.release === true) return await release(context, first, second, options.message)
  if (options.token !== undefined) throw usage('--token needs --extend', 'a new claim gets a new token')
  if (options.message !== undefined) throw usage('-m needs --release', 'a claim has no message')
  return await withState(context, { create: false }, async composed => {
    const target = first === undefined ? null : await findPlanOrTask(composed.engine, first, second)
    const claimed = await claimNow(context, composed, options, {
      ...(target === null ? {} : { plan: target.plan }),
      ...(target === null || target.task === null ? {} : { task: target.task }),
      leaseMs: options.lease,
    })
    if (typeof claimed === 'number') return claimed
    const { plan, name, claim: held, version } = claimed
    if (held === undefined) throw new Error('a claim was accepted without a token')
    const card = await composed.engine.ask({ type: 'task', plan, task: held.task })
    const briefing = await composed.engine.ask({ type: 'briefing', plan, task: held.task })
    const place = (await composed.engine.ask({ type: 'summary', plan }))?.place ?? null
    const work = await composed.engine.ask({ type: 'judgedWork', plan, task: held.task })
    const reported = Object.entries(briefing?.outputs ?? {}).flatMap(([output, { from }]) =>
      from === 'report' ? [` --output ${escapeForTerminal(output)}=…`] : [],
    )
    const of = `${name} ${held.task} --token ${held.token}`
    const keep = `planfold claim ${name} ${held.task} --extend --token ${held.token}`
    const next = [
      keep,
      `planfold report ${of} --status done -m 'how you know'${reported.join('')}`,
      `planfold report ${of} --status failed -m 'what went wrong'`,
    ].map(line => withDir(context, line))
    answer(context, { plan, name, version, ...held, card, briefing, work, place, next }, () => [
      ...(target === null ? [`plan   ${name}`] : []),
      `task   ${held.task}${card?.title == null ? '' : `  ${escapeForTerminal(card.title)}`}`,
      `token  ${held.token}`,
      ...(place === null ? [] : [`folder ${escapeForTerminal(place)}`]),
      ...(briefing === null ? [] : briefingLines(briefing, context.paint)),
      ...judgedLines(work, context.paint),
    ])
    printNote(context, `yours for ${elapsed(held.expiresInMs)}; keep it with: ${keep}`)
    printNote(
      context,
      `report with: planfold report ${name} ${held.task} --status done --token ${held.token}${reported.join('')}`,
    )
    const mode = briefing === null || briefing.failureModes.length === 0 ? '' : ' [--mode MODE]'
    printNote(
      context,
      `or with: planfold report ${name} ${held.task} --status failed --token ${held.token} -m 'what went wrong'${mode}`,
    )
    return EXIT.done
  })
}

async function extend(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  { token, lease }: ClaimOptions,
): Promise<number> {
  if (first === undefined)
    throw usage('name the task that you claimed', 'planfold claim [plan] <task> --extend --token TOKEN')
  if (token === undefined) throw usage('--extend needs the token of the claim', 'add --token TOKEN')
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await findTask(composed.engine, first, second)
    const kept = await keepClaim(composed.engine, { plan, task }, { token, leaseMs: lease })
    if (kept.status === 'refused') throw refused(kept.refusal)
    const { expiresInMs } = kept
    answer(
      context,
      { plan, task, expiresInMs },
      () => `${task} is yours${expiresInMs === null ? '' : ` for another ${elapsed(expiresInMs)}`}`,
    )
    return EXIT.done
  })
}

async function release(context: Context, first: string | undefined, second: string | undefined, reason?: string) {
  if (first === undefined) throw usage('name the task', 'planfold claim [plan] <task> --release')
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await findTask(composed.engine, first, second)
    await orderAndTell(context, composed, plan, { type: 'release', task, reason })
    return EXIT.done
  })
}

async function claimNow(
  context: Context,
  { engine }: Composed,
  { wait, timeout }: ClaimOptions,
  ask: ClaimAsk,
): Promise<Accepted | number> {
  if (wait !== true && timeout !== undefined) throw usage('--timeout needs --wait', 'add --wait')
  const stop = new AbortController()
  let interrupted = false
  const unlisten = context.onSignal(() => {
    interrupted = true
    stop.abort()
  })
  const timer = timeout === undefined ? undefined : setTimeout(() => stop.abort(), timeout)
  try {
    const room = { engine, now: context.now }
    const claimed = wait === true ? await claimWhenReady(room, ask, stop.signal) : await claimTask(room, ask)
    if (claimed === null) {
      printNote(context, interrupted ? 'interrupted; nothing was claimed' : 'no task became ready in time')
      return interrupted ? EXIT.interrupted : EXIT.waits
    }
    if (!claimed.ok) throw refused(claimed.refusal)
    return claimed
  } finally {
    clearTimeout(timer)
    unlisten()
  }
}
