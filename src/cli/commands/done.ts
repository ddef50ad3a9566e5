// `planfold done PLAN TASK`: reports an external task as done, with its outputs.

import type { Json, JsonObject } from '../../domain/json.ts'
import { unacceptedIn } from '../../domain/views/briefing.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { elapsed } from '../elapsed.ts'
import { EXIT, usage } from '../exit.ts'
import { meantTask } from '../meant.ts'
import { orderAndTell } from '../order.ts'

export interface DoneOptions {
  readonly token?: string
  /** `name=value`; a value that is JSON is taken as such. */
  readonly output?: readonly string[]
  readonly outputs?: string
  readonly outcome?: string
}

export async function done(
  context: Context,
  first: string,
  second: string | undefined,
  options: DoneOptions,
): Promise<number> {
  const outputs = await outputsOf(context, options)
  return await withState(context, { create: false }, async composed => {
    const { plan, task } = await meantTask(composed.engine, first, second)
    const { name, events, claim } = await orderAndTell(context, composed, plan, {
      type: 'report',
      task,
      ...(options.token === undefined ? {} : { token: options.token }),
      result: {
        status: 'succeeded',
        ...(options.outcome === undefined ? {} : { outcome: options.outcome }),
        ...(outputs === null ? {} : { outputs }),
      },
    })
    const unaccepted = unacceptedIn(events)
    if (unaccepted === null) return EXIT.done
    for (const { criterion, holds, evidence } of unaccepted.verdicts)
      if (holds === false)
        remark(
          context,
          `not met: ${escapeForTerminal(`${criterion}${evidence === undefined ? '' : ` (${evidence})`}`)}`,
        )
    if (unaccepted.kept)
      remark(
        context,
        `${task} is still yours${claim === undefined ? '' : ` for ${elapsed(claim.expiresInMs)}`}: mend it, then report again: planfold done ${name} ${task}${claim === undefined ? '' : ` --token ${claim.token}`}`,
      )
    // A report that was not accepted is a failure, and a script must see it.
    return EXIT.failed
  })
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
  const { readText } = await import('../plan-file.ts')
  const { readDocument } = await import('../../format/document.ts')
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
    throw usage(`${path} does not hold an object`, 'write {"name": value, …}')
  return value as JsonObject
}

function pair(text: string): readonly [string, Json] {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`'${text}' is no output`, 'write --output name=value')
  const name = text.slice(0, at)
  if (name === '__proto__') throw usage(`an output cannot be called '${name}'`, 'choose another name')
  const value = text.slice(at + 1)
  try {
    return [name, JSON.parse(value) as Json]
  } catch {
    return [name, value]
  }
}
