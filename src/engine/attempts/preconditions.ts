// Preconditions, judged like acceptance criteria, plus facts about this machine; a check may only read. A precondition that does not hold
// is a transient failure: the attempt may be retried.

import { statfs } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { dirname } from 'node:path'
import type { Criterion } from '../../domain/plan.ts'
import { commandText } from '../../domain/plan-rules/criterion-text.ts'
import { writeAround } from '../../domain/policy/policy-in-state.ts'
import type { Failure, Verdict } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import type { Attempt, RunnerTools } from '../../runners/runner.ts'
import { intersectScopes, type Patterns } from '../../safety/scope.ts'
import type { Rooms } from '../rooms.ts'
import { sandboxFor } from './attempt-sandbox.ts'
import { boundOf } from './expressions.ts'
import { judge } from './judge-criteria.ts'
import { commandsFor, readTools } from './policy-checks.ts'
import { resolveAttempt } from './resolve.ts'

// Tools of a check that belongs to no attempt: preconditions, criteria of a report, the definition of done.

export function checkTools(
  rooms: Rooms,
  state: PlanState,
  { key, definition, visit, attempt }: Pick<Attempt, 'key' | 'definition' | 'visit' | 'attempt'>,
  log: RunnerTools['log'],
): RunnerTools {
  return {
    root: rooms.root,
    stateDir: rooms.stateDir,
    owner: key,
    write: writeAround(state).reduce<Patterns>(intersectScopes, null),
    environment: rooms.environment,
    about: rooms.about,
    evaluate: () => ({ ok: false, message: 'a check evaluates nothing' }),
    log,
    monotonic: rooms.clock.monotonic,
    ...commandsFor(rooms, state, definition),
    ...readTools(state, definition),
    ...sandboxFor(rooms, state, { as: 'check', definition, visit, attempt }),
  }
}

// What preconditions may ask about this machine: `memory.has_space`, the free bytes where the state is kept, and `network.online`, whether
// any interface but the loopback is up. Computed only if an expression uses them.

export interface Facts {
  readonly memory: { readonly has_space: number }
  readonly network: { readonly online: boolean }
}

export async function systemFacts(stateDir: string): Promise<Facts> {
  return { memory: { has_space: await freeBytes(stateDir) }, network: { online: isOnline() } }
}

/** For a folder that does not exist yet: the disk of its nearest existing parent. */
async function freeBytes(folder: string): Promise<number> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { bavail, bsize } = await statfs(at)
      return bavail * bsize
    } catch (error) {
      const missing = (error as { code?: string }).code === 'ENOENT'
      if (!missing || dirname(at) === at) throw error
    }
  }
}

const isOnline = (): boolean =>
  Object.values(networkInterfaces()).some(addresses => addresses?.some(({ internal }) => !internal) === true)

const CHECK_MAX_MS = 5 * 60_000

/** Null when we are stopping. */
export type Judged =
  | { readonly verdicts: readonly Verdict[] }
  /** The first that does not hold is the failure; all verdicts so far are returned. */
  | { readonly failure: Failure; readonly verdicts?: readonly Verdict[] }
  | null

export async function judgePreconditions(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  signal: AbortSignal,
): Promise<Judged> {
  const { preconditions = [] } = task.definition
  const asked = await judgeCriteria(rooms, state, task, preconditions, signal)
  if (asked === null || 'failure' in asked) return asked
  const { verdicts, facts } = asked
  const at = verdicts.findIndex(({ holds }) => holds === false)
  if (at < 0) return { verdicts }
  return { failure: notMet(preconditions[at]!, verdicts[at]!, facts), verdicts }
}

export async function judgeCriteria(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  criteria: readonly Criterion[],
  signal: AbortSignal,
): Promise<
  { readonly verdicts: readonly Verdict[]; readonly facts: Partial<Facts> } | { readonly failure: Failure } | null
> {
  const resolved = await resolveAttempt(state, task)
  if (!resolved.ok)
    return {
      failure: {
        class: 'logic',
        message: resolved.message,
        hint: resolved.hint,
        retryable: false,
      },
    }
  const attempt: Attempt = {
    ...resolved.value,
    attempt: task.attempt + 1,
    timeoutMs: Math.min(resolved.value.timeoutMs, CHECK_MAX_MS),
  }
  const facts = criteria.some(speaksOfFacts)
    ? await (rooms.facts?.() ?? systemFacts(rooms.stateDir))
    : ({} as Partial<Facts>)
  const verdicts = await judge(criteria, {
    state,
    attempt,
    context: {
      ...boundOf(attempt.definition),
      inputs: attempt.inputs,
      feedback: attempt.feedback ?? '',
      visit: attempt.visit,
      attempt: attempt.attempt,
      ...facts,
    },
    run: rooms.runners.get('run'),
    blobs: rooms.store.blobs,
    tools: { ...checkTools(rooms, state, attempt, () => {}), write: [] },
    signal,
  })
  return signal.aborted ? null : { verdicts, facts }
}

function notMet(criterion: Criterion, { criterion: text, evidence }: Verdict, facts: Partial<Facts>): Failure {
  const seen = [evidence, ...seenBy(criterion, facts)].filter(part => part !== undefined).join(', ')
  const words = 'text' in criterion && criterion.text !== undefined ? `${criterion.text}: ` : ''
  return {
    class: 'resource',
    message: `precondition failed: '${words}${text}'${seen === '' ? '' : ` (${seen})`}`,
    hint: 'make it true, then retry the task',
    retryable: true,
  }
}

function seenBy(criterion: Criterion, { memory, network }: Partial<Facts>): readonly string[] {
  const text = textOf(criterion)
  return [
    ...(memory !== undefined && /\bhas_space\b/.test(text) ? [`memory.has_space is ${memory.has_space}`] : []),
    ...(network !== undefined && /\bnetwork\b/.test(text) ? [`network.online is ${network.online}`] : []),
  ]
}

const speaksOfFacts = (criterion: Criterion): boolean => /\b(?:has_space|network)\b/.test(textOf(criterion))

function textOf(criterion: Criterion): string {
  switch (criterion.type) {
    case 'check':
    case 'tests':
      return commandText(criterion.command)
    case 'expect':
      return criterion.expression
    case 'prose':
      return ''
    default:
      return criterion satisfies never
  }
}
