// Judges the definition of done against the current workspace, outside any task, and proposes tasks for criteria that do not hold. Each
// verdict has evidence: the exit of the check and the end of its output.

import { keyText } from '../../domain/budget/budget-text.ts'
import { budgetView } from '../../domain/budget/budget-view.ts'
import type { Command } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Criterion } from '../../domain/plan.ts'
import { DONE_TASK } from '../../domain/plan-rules/graph-rules.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Verdict } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { convergenceOf, unmetIn, withFixes } from '../../domain/views/convergence.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { contextAfter, judge } from '../attempts/judge-criteria.ts'
import { checkTools } from '../attempts/preconditions.ts'
import { resolveAttempt } from '../attempts/resolve.ts'
import type { Converging } from '../queries.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

const SEEN_MAX = 1_000

export type Asked<T extends Command['type']> =
  | { readonly ok: true; readonly command: Extract<Command, { readonly type: T }> }
  | { readonly ok: false; readonly refusal: Refusal }

export async function assess(
  rooms: Rooms,
  state: PlanState,
  { timeoutMs = Number.POSITIVE_INFINITY }: { readonly timeoutMs?: number },
): Promise<Asked<'assess'>> {
  const { done = [] } = state.definition
  const round = state.rounds + 1
  const task = state.tasks.get(DONE_TASK)
  if (done.length === 0 || task === undefined)
    return {
      ok: false,
      refusal: refuse('not-ready', 'the plan does not say when it is done', "write checks under 'done:'"),
    }
  const resolved = await resolveAttempt(state, task)
  if (!resolved.ok) return { ok: false, refusal: refuse('invalid', resolved.message, resolved.hint) }
  const verdicts: Verdict[] = []
  const attempt = { ...resolved.value, timeoutMs: Math.max(1, Math.min(resolved.value.timeoutMs, timeoutMs)) }
  for (const criterion of done) verdicts.push(await judgeOne(rooms, state, criterion, attempt))
  return { ok: true, command: { type: 'assess', round, verdicts } }
}

async function judgeOne(
  rooms: Rooms,
  state: PlanState,
  criterion: Criterion,
  attempt: Parameters<typeof contextAfter>[1],
): Promise<Verdict> {
  let seen = ''
  const [verdict] = await judge([criterion], {
    state,
    attempt,
    context: contextAfter({ outputs: {} }, attempt),
    run: rooms.runners.get('run'),
    blobs: rooms.store.blobs,
    tools: checkTools(rooms, state, attempt, (stream, chunk) => {
      if (stream !== 'engine') seen = `${seen}${Buffer.from(chunk).toString()}`.slice(-SEEN_MAX)
    }),
    signal: new AbortController().signal,
  })
  const { evidence, ...judged } = verdict!
  const printed = seen.trim()
  if (judged.holds !== false || printed === '') return verdict!
  return { ...judged, evidence: evidence === undefined ? printed : `${evidence}: ${printed}` }
}

/** The revision with one task for each criterion that did not hold in the last round. */
export async function append(
  rooms: Rooms,
  state: PlanState,
  { with: command }: { readonly with?: string },
): Promise<Asked<'revise'>> {
  const { definition, revision } = state
  if (definition.policy?.replan === 'never')
    return {
      ok: false,
      refusal: refuse(
        'not-allowed',
        "the plan's policy lets nothing be added to it (`policy.replan: never`)",
        advise`change it by hand: ${quoted('revise')}`,
      ),
    }
  const { round, verdicts, isAppended } = convergenceOf(await entriesAfter(rooms.store, state.id, 0))
  const unmet = unmetIn(verdicts)
  if (round === 0 || isAppended || unmet.length === 0)
    return { ok: false, refusal: refuse('not-ready', 'no failed checks are known', 'run the checks first') }
  const fixed = withFixes(definition, round, unmet, command)
  const rationale = `converge, round ${round}: failed: ${unmet.map(({ criterion }) => `'${criterion}'`).join(', ')}`
  return {
    ok: true,
    command: {
      type: 'revise',
      definition: fixed,
      hash: definitionHash(fixed),
      rationale,
      expectedRevision: revision,
      reopen: true,
    },
  }
}

export async function converging(rooms: Rooms, state: PlanState): Promise<Converging> {
  const { definition } = state
  const { blocks } = budgetView(state, rooms.clock.now())
  const used = blocks.find(({ task }) => task === null)?.lines.find(({ left }) => left <= 0)
  const spent =
    used === undefined ? null : `${keyText(used.key, used.spent)} of ${keyText(used.key, used.cap)} are used up`
  const entries = await entriesAfter(rooms.store, state.id, 0)
  return { ...convergenceOf(entries), criteria: definition.done?.length ?? 0, spent }
}
