// Compares what a task changed with what it declared. With `effects`, any other change is a failure. With `write` alone, and if all files
// were compared, any other change is only reported.
//
// Another task may have worked at the same time. Changes in its declared scope are its own. If it declares no scope, the author of a change
// is unknown: with `effects` a person is asked, otherwise nothing is reported.

import { actionFacts } from '../../domain/actions/actions.ts'
import type { Millis } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { effectsText } from '../../domain/plan-rules/criterion-text.ts'
import { effectOf, scopeOf, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import type { Failed, Result, Succeeded, Verdict } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { isScratch } from '../../safety/sandbox/workspace-mounts.ts'
import { inScope } from '../../safety/scope.ts'
import type { Change } from '../../workspace/workspace.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'

const NAMED_MAX = 5

/** The paths it may change; undefined if there is no such restriction. */
export const restrictedTo = (
  { effects, write }: Pick<TaskDefinition, 'effects' | 'write'>,
  { wrote }: Pick<Result, 'wrote'>,
): readonly string[] | undefined => effects ?? (wrote?.snapshot === undefined ? undefined : write)

/** Adds a verdict about the effects to the result; it fails if something undeclared changed. */
export async function checkEffects(
  rooms: Pick<Rooms, 'store' | 'clock'>,
  state: PlanState,
  task: TaskState,
  result: Result,
): Promise<Result> {
  if (result.status === 'failed') return result
  const { definition } = task
  const { effects } = definition
  const { wrote } = result
  const declared = restrictedTo(definition, result)
  if (declared === undefined || !mayWrite(state, task)) return result
  const criterion = effectsText(declared)
  if (wrote === undefined)
    // Changes in a task worktree are checked when it is merged.
    return usesTaskWorktrees(state.definition) ? result : withVerdict(result, unseen(criterion))
  const changes = wrote.changes === null ? [] : await readChanges(rooms as Rooms, wrote.changes)
  const isOwn = (change: Change) => inScope(declared, change.path) || isFolderFor(declared, change)
  const own = changes.filter(isOwn).length
  const others = own === changes.length || wrote.snapshot === undefined ? [] : besides(state, task)
  const isOthers = (change: Change) =>
    others.some(other => {
      const theirs = declaredBy(state, other) ?? []
      return inScope(theirs, change.path) || isFolderFor(theirs, change)
    })
  const strays = changes
    .filter(change => !isOwn(change) && !isOthers(change) && !isScratchFolder(change))
    .map(({ path }) => path)
  if (strays.length === 0)
    return effects === undefined ? result : withVerdict(result, { criterion, holds: true, evidence: paths(own) })
  const evidence = `${listed(strays)} changed while it ran`
  const unknown = others.filter(other => declaredBy(state, other) === null).map(other => other.definition.id)
  // Without `effects` nothing was promised, and a concurrent task may have made the change.
  if (effects === undefined && unknown.length > 0) return result
  if (effects !== undefined && unknown.length > 0)
    return withVerdict(result, {
      criterion,
      holds: null,
      evidence: `${evidence}; ${listed(unknown)} may have done it`,
    })
  const judged = withVerdict(result, { criterion, holds: false, evidence })
  return effects === undefined ? judged : broken(judged, strays)
}

export const isFolderFor = (declared: readonly string[], change: Change): boolean =>
  isFolder(change) && declared.some(pattern => pattern.startsWith(`${change.path}/`))

/** Planfold makes it while a command runs, this one or a concurrent one. */
const isScratchFolder = (change: Change): boolean => isFolder(change) && isScratch(change.path)

export const isFolder = ({ before, after }: Change): boolean =>
  [before, after].every(entry => entry === null || entry.type === 'directory')

const unseen = (criterion: string): Verdict => ({ criterion, holds: null, evidence: 'its files were not recorded' })

/** Read-only tasks are trusted, and a task that writes nothing has nothing to compare. */
function mayWrite(state: PlanState, { definition }: TaskState): boolean {
  if (actionFacts(definition.action).changesFiles !== true) return false
  return effectOf(state.definition, definition) !== 'pure'
}

function besides(state: PlanState, task: TaskState): readonly TaskState[] {
  const since: Millis = task.startedAt ?? 0
  return state.order.filter(other => {
    if (other === task || other.startedAt === null || !mayWrite(state, other)) return false
    return other.status === 'running' || (other.endedAt !== null && other.endedAt >= since)
  })
}

const declaredBy = ({ definition: plan }: PlanState, { definition }: TaskState): readonly string[] | null =>
  definition.effects ??
  definition.write ??
  (actionFacts(definition.action).edits !== undefined ? scopeOf(plan, definition) : null)

function withVerdict(result: Succeeded, verdict: Verdict): Succeeded {
  return { ...result, verdicts: [...(result.verdicts ?? []), { ...verdict, stage: 'effects' }] }
}

function broken({ outcome: _, checkpoint: __, ...result }: Succeeded, strays: readonly string[]): Failed {
  return {
    ...result,
    status: 'failed',
    failure: {
      class: 'policy',
      message: `it changed what it did not declare: ${listed(strays)}`,
      hint: "declare it under 'effects:', or keep the task from changing it",
      retryable: false,
      code: 'effects',
    },
  }
}

const paths = (count: number): string => (count === 1 ? '1 path changed' : `${count} paths changed`)

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX).join(', ')
  return names.length > NAMED_MAX ? `${shown} and ${names.length - NAMED_MAX} more` : shown
}
