// Rolls a plan back, or undoes the last rollback: preview, paths that need a choice, the order, and its completion. Files that others have
// edited since are never overwritten without a choice. Also restores single files from backups.

import type { Event, EventOf } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import type { Refusal } from '../domain/refusal.ts'
import { ENDED } from '../domain/status.ts'
import type {
  Engine,
  FilePreview,
  KeptFile,
  Order,
  RestoreAsk,
  RollbackAsk,
  RollbackPreview,
  SubmitOptions,
  Submitted,
} from '../engine/engine.ts'
import type { Choice } from '../workspace/workspace.ts'
import type { CallerEngine } from './run-plan.ts'

export type RollbackEnd = EventOf<'rollback.finished'> | EventOf<'rollback.stopped'>

export const isRollbackEnd = (event: Event): event is RollbackEnd =>
  event.type === 'rollback.finished' || event.type === 'rollback.stopped'

export interface RollbackWanted {
  readonly plan: PlanId
  readonly kind: 'rollback' | 'undo'
  readonly ask: RollbackAsk
}

export async function previewRollback(
  engine: Pick<CallerEngine, 'ask'>,
  { plan, kind, ask }: RollbackWanted,
): Promise<RollbackPreview | null> {
  const undo = kind === 'undo' ? { undo: true as const } : {}
  return await engine.ask({ type: 'rollbackPreview', plan, ...undo, ...ask })
}

type Choices = Pick<RollbackAsk, 'choices' | 'every' | 'force'>

/** The choice for a path that was edited since; null if there is none. */
export const choiceFor = ({ choices, every, force }: Choices, path: string): Choice | null =>
  choices?.[path] ?? every ?? (force === true ? 'take' : null)

/** Edited files without a choice. While there are any, nothing is ordered. */
export const undecidedFiles = (files: readonly FilePreview[], choices: Choices): readonly FilePreview[] =>
  files.filter(({ path, conflict }) => conflict !== undefined && choiceFor(choices, path) === null)

/** Words that name paths, by choice; `all` means every path that needs one. */
export type ChoiceWords = { readonly [choice in Choice]?: readonly string[] | undefined }

export type ChoiceReading =
  | { readonly ok: true; readonly choices: Pick<RollbackAsk, 'choices' | 'every'> }
  | { readonly ok: false; readonly fault: ChoiceFault }

export type ChoiceFault =
  | { readonly what: 'two-for-all' }
  | { readonly what: 'two-for-path'; readonly path: string }
  | { readonly what: 'no-path'; readonly word: string }
  | { readonly what: 'no-conflict'; readonly word: string }

const ALL = 'all'
const CHOICES: readonly Choice[] = ['keep', 'take', 'merge']

/** `matchPaths` says which of these paths a word means. */
export function readChoices(
  files: readonly FilePreview[],
  words: ChoiceWords,
  matchPaths: (word: string, paths: readonly string[]) => readonly string[],
): ChoiceReading {
  const known = files.map(({ path }) => path)
  const conflicts = files.filter(({ conflict }) => conflict !== undefined).map(({ path }) => path)
  const unclaimed = files.filter(file => file.unclaimed !== undefined).map(({ path }) => path)
  const choices = new Map<string, Choice>()
  let every: Choice | undefined
  const wrong = (fault: ChoiceFault): ChoiceReading => ({ ok: false, fault })
  for (const [choice, word] of CHOICES.flatMap(one => (words[one] ?? []).map(each => [one, each] as const))) {
    if (word === ALL) {
      if (every !== undefined && every !== choice) return wrong({ what: 'two-for-all' })
      every = choice
      continue
    }
    // `keep` is possible for any path, `take` also for files that may be another's.
    const may = choice === 'keep' ? known : choice === 'take' ? [...conflicts, ...unclaimed] : conflicts
    const paths = matchPaths(word, may)
    if (paths.length === 0)
      return wrong({ what: matchPaths(word, known).length === 0 ? 'no-path' : 'no-conflict', word })
    for (const path of paths) {
      if ((choices.get(path) ?? choice) !== choice) return wrong({ what: 'two-for-path', path })
      choices.set(path, choice)
    }
  }
  return {
    ok: true,
    choices: {
      ...(choices.size === 0 ? {} : { choices: Object.fromEntries(choices) }),
      every,
    },
  }
}

export interface RollbackOptions {
  readonly submit?: SubmitOptions
  /** For files only: a plan that no process runs is paused meanwhile, so that driving it starts no task, and resumed afterwards. */
  readonly holdStill?: boolean
}

export type RollbackOrdered<T> =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | {
      readonly status: 'ordered'
      readonly accepted: Extract<Submitted, { readonly ok: true }>
      readonly carried: T
    }

/** `carryOut` drives the plan, or waits for the process that does, until the rollback has ended. */
export async function orderRollback<T>(
  engine: CallerEngine,
  { plan, kind, ask }: RollbackWanted,
  carryOut: (accepted: Extract<Submitted, { readonly ok: true }>) => Promise<T>,
  { submit = {}, holdStill = false }: RollbackOptions = {},
): Promise<RollbackOrdered<T>> {
  const paused = holdStill ? await pauseIdlePlan(engine, plan, 'reverting files') : null
  if (paused?.status === 'refused') return paused
  try {
    const accepted = await engine.submit(plan, orderOf(kind, ask), submit)
    if (!accepted.ok) return { status: 'refused', refusal: accepted.refusal }
    const carried = await carryOut(accepted)
    await settleRequests(engine, plan, ask)
    return { status: 'ordered', accepted, carried }
  } finally {
    await paused?.resume()
  }
}

/** The question by which an agent asks for a rollback. */
export const rollbackRequest = (task: string): string => `roll back '${task}'?`

/** Answers the agents that asked for the rollback of these tasks, if the tasks were reset. */
async function settleRequests(engine: CallerEngine, plan: PlanId, { tasks = [] }: RollbackAsk): Promise<void> {
  const { asked = [] } = (tasks.length === 0 ? null : await engine.ask({ type: 'summary', plan })) ?? {}
  for (const { id, what, task, text } of asked) {
    if (what !== 'question' || task === null || !tasks.includes(task) || !text.startsWith(rollbackRequest(task)))
      continue
    const card = await engine.ask({ type: 'task', plan, task })
    if (card !== null && !ENDED.has(card.status))
      await engine.submit(plan, { type: 'answer', id, answers: { answer: 'done' } })
  }
}

function orderOf(kind: RollbackWanted['kind'], ask: RollbackAsk): Order {
  if (kind === 'rollback') return { type: kind, ...ask }
  const { to: _, ...how } = ask
  return { type: kind, ...how }
}

export type IdlePause =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'held'; readonly resume: () => Promise<void> }

/** Pauses an active or blocked plan that no living process owns; null if there is nothing to pause. */
export async function pauseIdlePlan(engine: CallerEngine, plan: PlanId, reason: string): Promise<IdlePause | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const isIdle = summary?.holder?.alive !== true && (summary?.status === 'active' || summary?.status === 'blocked')
  if (!isIdle) return null
  const paused = await engine.submit(plan, { type: 'pause', reason })
  if (!paused.ok) return { status: 'refused', refusal: paused.refusal }
  return {
    status: 'held',
    resume: async () => {
      await engine.submit(plan, { type: 'resume' })
    },
  }
}

export interface KeptPath {
  readonly path: string
  readonly versions: readonly KeptFile[]
}

/** By path; the path whose version was replaced last is at the end. */
export async function listKeptFiles(engine: Engine, plan: PlanId): Promise<readonly KeptPath[]> {
  const kept = (await engine.ask({ type: 'keptFiles', plan })) ?? []
  const byPath = new Map<string, KeptFile[]>()
  for (const one of kept) {
    const versions = byPath.get(one.path) ?? []
    // Moves it to the end, to sort by latest version.
    byPath.delete(one.path)
    byPath.set(one.path, [...versions, one])
  }
  return [...byPath].map(([path, versions]) => ({ path, versions }))
}

/** `overwrite` and `merge` say what to do if the file has changed since. */
export function restoreOrder(
  paths: readonly string[],
  options: { readonly hash?: string; readonly overwrite?: boolean; readonly merge?: boolean },
): { readonly type: 'restore' } & RestoreAsk {
  const every = options.merge === true ? 'merge' : options.overwrite === true ? 'take' : undefined
  return {
    type: 'restore',
    paths,
    hash: options.hash,
    every,
  }
}
