// Turns orders about revisions into commands: a proposal gets its id and hash, the definition of done is judged, tasks are made for what is
// missing. Also answers queries about proposals.

import type { Command } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import { rewrittenTasks } from '../../domain/plan-rules/authors.ts'
import { keepItems } from '../../domain/plan-rules/for-each.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { fateWords, type ProposalCard, proposalsOf } from '../../domain/views/proposals.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { inboxId } from '../gates/inbox-id.ts'
import { roomsOf } from '../git/plan-worktree.ts'
import type { ReplanningOrder, Submitted } from '../orders.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { type Writing, writerOf } from '../write-order.ts'
import { append, assess } from './converge.ts'
import { stampOf } from './drift.ts'

type Replanning = Exclude<ReplanningOrder, { readonly type: 'judge' }>

/** `update` writes a command to the plan. */
export async function replan(
  rooms: Rooms,
  plan: PlanId,
  order: ReplanningOrder,
  writing: Writing,
  update: (command: Command) => Promise<Submitted>,
): Promise<Submitted> {
  const { actor } = writing
  if (order.type === 'judge') {
    const stamp = order.verdict === 'accepted' ? await stampOf(rooms, plan, 'begun') : {}
    const { shown = [], ...judgement } = order
    const writer = isShown(await rooms.store.state(plan), order.id, shown) ? writerOf(writing) : undefined
    const judged = await update({ ...judgement, ...stamp, by: actor, writer })
    return judged.ok ? judged : { ok: false, refusal: await whyGone(rooms, plan, order.id, judged.refusal) }
  }
  const state = await rooms.store.state(plan)
  if (state === null) return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
  const made = await commandFor(roomsOf(rooms, state), state, order, actor)
  if (!made.ok) return made
  const stamp = made.command.type === 'revise' ? await stampOf(rooms, plan, 'begun') : {}
  return await update({
    ...made.command,
    ...stamp,
    ...(made.command.type === 'revise' ? { writer: writerOf(writing) } : {}),
  })
}

/** A revision is the person's own if every command in it was shown to them. */
function isShown(state: PlanState | null, id: string, shown: readonly TaskName[]): boolean {
  const proposal = state?.proposals.find(one => one.id === id)
  if (state === null || proposal === undefined) return false
  return rewrittenTasks(state.definition, proposal.definition).every(task => shown.includes(task))
}

async function commandFor(
  rooms: Rooms,
  state: PlanState,
  order: Replanning,
  actor: Actor,
): Promise<{ readonly ok: true; readonly command: Command } | { readonly ok: false; readonly refusal: Refusal }> {
  switch (order.type) {
    case 'assess':
      return await assess(rooms, state, order)
    case 'append':
      return await append(rooms, state, order)
    case 'propose': {
      const { type, expectedRevision, ...rest } = order
      if (expectedRevision !== undefined && expectedRevision !== state.revision)
        return {
          ok: false,
          refusal: refuse(
            'conflict',
            `the plan is at revision ${state.revision}, not ${expectedRevision}`,
            'read it again, then propose',
          ),
        }
      const definition = keepItems(state.definition, order.definition)
      const hash = definitionHash(definition)
      const id = inboxId(`${state.id}/proposal/${state.version}/${hash}`)
      return { ok: true, command: { type, ...rest, definition, hash, base: state.hash, id, by: actor } }
    }
    default:
      return order satisfies never
  }
}

export async function proposals(rooms: Rooms, plan: PlanId): Promise<readonly ProposalCard[]> {
  return proposalsOf(await entriesAfter(rooms.store, plan, 0))
}

/** For a proposal that does not wait any more: what became of it, instead of "not found". */
async function whyGone(rooms: Rooms, plan: PlanId, id: string, refusal: Refusal): Promise<Refusal> {
  const card = (await proposals(rooms, plan)).findLast(one => one.id === id)
  if (refusal.code !== 'not-found' || card === undefined || card.fate.status === 'waiting') return refusal
  const hint =
    card.fate.status === 'void' ? 'look at the plan as it is, and propose again' : advise`see ${quoted('proposals')}`
  return refuse('conflict', fateWords(card), hint)
}
