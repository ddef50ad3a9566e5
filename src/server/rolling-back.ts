// Going back, as it is asked for over the wire: what would happen, where somebody must choose first, and the order itself.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { FilePreview, RollbackAsk, RollbackPreview } from '../engine/engine.ts'
import type { RollbackBody } from '../format/wire/plan-verbs.ts'
import { inOurWords } from './hint-words.ts'
import { onWire } from './on-wire.ts'
import { type Asking, gone, movedOf, order } from './ordering.ts'
import { isProblem, type Problem, problem, refused, unfit } from './problem.ts'
import { waitFor } from './waiting.ts'

type Foretold = Extract<RollbackPreview, { readonly ok: true }>

export const CHOICES = ['mine', 'theirs', 'merge'] as const

/** Both say where to; only one of them may. */
export function askOf(body: RollbackBody): RollbackAsk | Problem {
  const { checkpoint_id, to, undo, files, tasks, files_only, keep_git, force, choices, every } = body
  if ([checkpoint_id, to, undo === true ? true : undefined].filter(one => one !== undefined).length > 1)
    return unfit('body', [
      { path: 'to', message: 'where to is said twice', hint: 'say one of checkpoint_id, to and undo' },
    ])
  if (undo === true && (files !== undefined || tasks !== undefined || files_only === true))
    return unfit('body', [{ path: 'undo', message: 'takes back all of the last rollback', hint: 'leave the rest out' }])
  const place = checkpoint_id ?? (to === undefined ? undefined : String(to))
  return {
    ...(place === undefined ? {} : { to: place }),
    ...(files === undefined ? {} : { files }),
    ...(tasks === undefined ? {} : { tasks: tasks as readonly string[] as readonly TaskName[] }),
    ...(files_only === true ? { filesOnly: true } : {}),
    ...(keep_git === true ? { keepGit: true } : {}),
    ...(force === true ? { force: true } : {}),
    ...(choices === undefined ? {} : { choices }),
    ...(every === undefined ? {} : { every }),
  }
}

export async function foretell(
  { rooms }: Asking,
  plan: PlanId,
  ask: RollbackAsk,
  undo: boolean,
): Promise<Foretold | Problem> {
  const preview = await rooms.engine.ask({
    type: 'rollbackPreview',
    plan,
    ...(undo ? { undo: true as const } : {}),
    ...ask,
  })
  if (preview === null) return gone()
  return preview.ok ? preview : refused(inOurWords(preview.refusal, plan))
}

/** Somebody has worked there since, and nobody chose. */
export const undecided = ({ files }: Foretold, { choices, every, force }: RollbackAsk): readonly FilePreview[] =>
  files.filter(
    ({ path, conflict }) =>
      conflict !== undefined && choices?.[path] === undefined && every === undefined && force !== true,
  )

export function showPreview({ plan, name }: { plan: string; name: string }, preview: Foretold, ask: RollbackAsk) {
  const { to, checkpoint, files, resets, compensate, stays, git, kept } = preview
  return {
    status: 'dry_run' as const,
    plan_id: plan,
    name,
    checkpoint_id: checkpoint?.name ?? null,
    to,
    files: onWire(files),
    conflicts: onWire(undecided(preview, ask)),
    choices: CHOICES,
    tasks: onWire(resets),
    compensate,
    stays: onWire(stays),
    git: onWire(git),
    kept: onWire(kept),
  }
}

export function conflicting(conflicts: readonly FilePreview[]): Problem {
  const many = conflicts.length === 1 ? 'one path' : `${conflicts.length} paths`
  return problem(409, 'conflict', `nothing was changed: somebody has worked on ${many} since`, {
    hint: 'choose with "choices": {path: "mine" | "theirs" | "merge"}, or for all of them with "every"',
    more: { conflicts: onWire(conflicts), choices: CHOICES },
  })
}

/** Ordered; carried out by whoever drives the plan. */
export async function goBack(
  call: Asking & { readonly signal: () => AbortSignal },
  plan: PlanId,
  ask: RollbackAsk,
  { undo, preview, seconds }: { readonly undo: boolean; readonly preview: Foretold; readonly seconds: number },
) {
  const { to: _, ...how } = ask
  const done = await order(call, plan, undo ? { type: 'undo', ...how } : { type: 'rollback', ...ask })
  if (isProblem(done)) return done
  const ended = await waitFor(
    call.rooms,
    done,
    event => (event.type === 'rollback.finished' || event.type === 'rollback.stopped' ? event : null),
    { ms: seconds * 1_000, signal: call.signal() },
  )
  const status =
    ended === null ? 'rollback_started' : ended.type === 'rollback.finished' ? 'rollback_completed' : 'rollback_stopped'
  // Once it has ended, the plan is at least that far.
  const now = ended === null ? null : await call.rooms.engine.ask({ type: 'summary', plan })
  return {
    status,
    checkpoint_id: preview.checkpoint?.name ?? null,
    to: preview.to,
    outcome: ended === null ? null : onWire({ ...ended, type: undefined }),
    ...(await movedOf(call, now === null ? done : { ...done, version: now.version })),
  } as const
}
