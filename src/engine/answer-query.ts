// Queries and their answers: from the fold for one plan, from the query tables for many. Reads only. Rarely used parts are imported on
// first use, because every module loaded before delays the first task of a resumed plan.

import { actionFacts, sandboxedCommand } from '../domain/actions/actions.ts'
import type { Event } from '../domain/event.ts'
import type { Hint } from '../domain/hint.ts'
import { isTaskName, type PlanId, parseTaskId, type TaskName } from '../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../domain/json.ts'
import type { Edit } from '../domain/plan.ts'
import { peopleIn } from '../domain/policy/plan-roles.ts'
import { inLine } from '../domain/rules/scheduling.ts'
import { hasDueAlarm } from '../domain/state/alarms.ts'
import { packFold } from '../domain/state/fold.ts'
import { isUnsealed, type PlanState, type TaskState } from '../domain/state/state.ts'
import { claimableTasks, judgedBy, perDefinition, perVersion } from '../domain/state/task-index.ts'
import { ENDED } from '../domain/status.ts'
import { board, briefing, type Card, card, explain, type Removed, urgentTasks } from '../domain/views/board.ts'

import { explainScopeWait } from '../domain/views/scope-wait.ts'
import { summary } from '../domain/views/summary.ts'
import type { Attempt } from '../runners/runner.ts'
import { earlierOf } from './attempts/earlier-attempts.ts'
import { sweepClaims } from './attempts/lapsed-claims.ts'
import { resolveAttempt, resolveBriefing, withTitles } from './attempts/resolve.ts'
import { scopeWaits } from './files/scope-reservation.ts'
import { isGone, roomsOf } from './git/plan-worktree.ts'
import { lazy } from './lazy-imports.ts'
import type { AnswerOf, Queries, QueryOf, QueryType } from './queries.ts'
import { records } from './records/audit.ts'
import type { Right } from './roles.ts'
import type { Rooms } from './rooms.ts'

/** A new blob is named in the journal within seconds. Until then it must not be collected, whatever age was given. */
const BLOBS_STAY_MS = 60 * 60_000

type Run<T extends QueryType> = (rooms: Rooms, ask: Queries[T]['ask']) => Promise<AnswerOf<T>>

interface Row<T extends QueryType> {
  readonly right: Right
  readonly run: Run<T>
}

const read = <T extends QueryType>(run: Run<T>): Row<T> => ({ right: 'read', run })
const inspect = <T extends QueryType>(run: Run<T>): Row<T> => ({ right: 'inspect', run })
const administer = <T extends QueryType>(run: Run<T>): Row<T> => ({ right: 'administer', run })

/** Returns the promise itself: a service awaits several for each of its answers. */
export function answer<T extends QueryType>(rooms: Rooms, query: QueryOf<T>): Promise<AnswerOf<T>> {
  return (QUERIES[query.type] as unknown as Row<T>).run(rooms, query)
}

export const QUERIES: { readonly [T in QueryType]: Row<T> } = {
  find: read((rooms, { reference }) => rooms.store.find(reference)),
  state: read(async (rooms, { plan }) => {
    const state = await upToDateState(rooms, plan)
    return state === null ? null : await stateNow(rooms, state)
  }),
  summary: read(async (rooms, { plan }) => {
    const state = await upToDateState(rooms, plan)
    if (state === null) return null
    const [author, holder] = [await authorOf(rooms, state), await rooms.store.leases.holder(state.id)]
    const people = author === null ? null : peopleIn(state.definition, author)
    return { ...summary(state), holder, ...(people === null ? {} : { people }) }
  }),
  board: read(async (rooms, { plan, urgent }) => {
    const state = await upToDateState(rooms, plan)
    if (state === null) return null
    if (urgent === undefined) return await titled(state, board(state))
    return await titled(
      state,
      urgentTasks(state, urgent).map(task => card(state, task)),
    )
  }),
  task: read(async (rooms, { plan, task }) => {
    const state = await upToDateState(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    return state === null || found === undefined ? null : (await titled(state, [card(state, found)]))[0]!
  }),
  briefing: read(async (rooms, { plan, task }) => {
    const state = await stateOf(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    if (state === null || found === undefined) return null
    const made = briefing(
      state.definition,
      found,
      await resolveBriefing(state, found),
      await earlierOf(rooms, state, found),
    )
    const learnt = ENDED.has(found.status)
      ? []
      : await (await lazy.lessons()).lessonsFor(roomsOf(rooms, state), state, found)
    return learnt.length === 0 ? made : { ...made, learnt }
  }),
  removed: read(async (rooms, { plan, task }) => {
    const state = await stateOf(rooms, plan)
    if (state === null || !isTaskName(task) || state.tasks.has(task as TaskName)) return null
    return await removedTask(rooms, state.id, task as TaskName)
  }),
  definition: read(async (rooms, { plan, revision }) => {
    const state = await stateOf(rooms, plan)
    if (state === null) return null
    if (revision === undefined || revision === state.revision)
      return {
        definition: wholeDefinition(state),
        revision: state.revision,
        hash: state.hash,
        ...(state.layers.length === 0 ? {} : { policy: state.layers }),
      }
    return await pastDefinition(rooms, state.id, revision)
  }),
  next: read(async (rooms, { plan, explain: wanted, limit }) => {
    const found = await rooms.store.find(plan)
    if (found !== null) await sweepClaims(rooms, found.plan)
    const state = await upToDateState(rooms, plan)
    if (state === null) return null
    const held = await scopeWaits(roomsOf(rooms, state), state)
    const waits = new Map(held.map(wait => [wait.task, wait]))
    const now = rooms.clock.now()
    const isFree = (task: TaskState): boolean => !waits.has(task.definition.id)
    const free = waits.size === 0 ? claimableTasks(state) : claimableTasks(state).filter(isFree)
    const claimable = limit === undefined ? free : byPriority(state, withDue(state, free, now))
    const ready = [...claimable.slice(0, limit), ...inLine(state, now, waits).filter(isFree)].map(task =>
      card(state, task),
    )
    const why = (task: TaskState): Hint => {
      const wait = waits.get(task.definition.id)
      return wait === undefined ? explain(state, task, now) : explainScopeWait(wait)
    }
    const open = (): readonly TaskState[] =>
      limit === undefined ? state.order : state.order.filter(({ status }) => !ENDED.has(status)).slice(0, limit)
    const explained = wanted === true ? open().map(task => ({ task: task.definition.id, why: why(task) })) : []
    return { ready: await titled(state, ready), claimable: claimable.length, explained, held }
  }),
  record: read(async (rooms, { plan, since }) => {
    const state = await upToDateState(rooms, plan)
    if (state === null) return null
    if (since === state.version) return UNCHANGED
    return { summary: summary(state), definition: wholeDefinition(state), dialect: state.dialect }
  }),
  records: read(async (rooms, { plan, tasks }) => {
    const state = await upToDateState(rooms, plan)
    if (state === null) return null
    const found = records(
      state,
      tasks.flatMap(task => taskIn(state, task) ?? []),
    )
    const cards = await titled(
      state,
      found.tasks.map(record => record.card),
    )
    return { ...found, tasks: found.tasks.map((record, at) => ({ ...record, card: cards[at]! })) }
  }),
  evaluations: read(async (rooms, { plan, task }) => {
    const state = await stateOf(rooms, plan)
    return (state === null ? undefined : taskIn(state, task))?.evaluations ?? null
  }),
  search: read((rooms, query) => rooms.store.search(query)),
  steps: read(async (rooms, { plan, by = 'plan', ...query }) => {
    const found = plan === undefined ? null : await rooms.store.find(plan)
    if (plan !== undefined && found === null) return null
    return await rooms.store.steps({ ...query, by, ...(found === null ? {} : { plan: found.plan }) })
  }),
  plans: read((rooms, query) => rooms.store.plans(query)),
  overview: read(async (rooms, query) => await (await import('./gates/inbox.ts')).overview(rooms, query)),
  tasks: read((rooms, query) => rooms.store.tasks(query)),
  attempts: read((rooms, query) => rooms.store.attempts(query)),
  metrics: read(async (rooms, { plan }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await rooms.store.metrics(found.plan)
  }),
  entries: read(async (rooms, { plan, ...options }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await rooms.store.read(found.plan, options)
  }),
  logs: read(async (rooms, { plan, task, ...options }) => {
    const of = await loggedTask(rooms, plan, task)
    return of === null ? null : await rooms.store.logs.read({ ...of, ...options })
  }),
  linesBefore: read(async (rooms, { plan, task, before }) => {
    const of = await loggedTask(rooms, plan, task)
    if (of === null) return null
    let [lines, after] = [0, 0]
    // Counted here and not in SQL: a store may keep the text elsewhere.
    for (;;) {
      const chunks = await rooms.store.logs.read({ ...of, after, limit: LOG_PAGE })
      for (const { seq, text } of chunks) if (seq < before) lines += text.split('\n').length - 1
      after = chunks.at(-1)?.seq ?? before
      if (chunks.length < LOG_PAGE || after >= before) return lines
    }
  }),
  taskPage: read(async (rooms, { plan, task }) => {
    const state = await upToDateState(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    if (state === null || found === undefined) return null
    const { taskPage } = await import('./records/task-page.ts')
    const page = await taskPage(rooms, state, found)
    const [titledCard] = await titled(state, [page.card])
    const { id } = found.definition
    // If the preview fails, the page is shown without it.
    const would = await QUERIES.preview.run(rooms, { plan: state.id, task: id }).catch(() => null)
    return { ...page, card: titledCard!, preview: would?.text ?? null }
  }),
  agentSteps: read(async (rooms, { plan, task }) => {
    const state = await stateOf(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    if (state === null || found === undefined) return null
    return await (await import('./records/task-page.ts')).stepsOf(rooms, state, found)
  }),
  taskChanges: inspect(async (rooms, { plan, task, ...which }) => {
    const state = await stateOf(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    if (state === null || found === undefined) return null
    return await (await import('./records/task-page.ts')).taskChanges(rooms, state, found, which)
  }),
  why: inspect(async (rooms, { plan, ...ask }) => {
    const state = plan === undefined ? null : await stateOf(rooms, plan)
    if (plan !== undefined && state === null) return null
    const { why } = await import('./records/why.ts')
    return await why(state === null ? rooms : roomsOf(rooms, state), state?.place ?? null, ask)
  }),
  consent: inspect(async (rooms, { plan, task }) => {
    const state = await upToDateState(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    return found === undefined
      ? null
      : await (await import('./gates/consent-question.ts')).consentQuestion(rooms, found)
  }),
  judgedWork: inspect(async (rooms, { plan, task }) => {
    const state = await upToDateState(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    const work = state === null || found === undefined || ENDED.has(found.status) ? null : judgedBy(state, found)
    if (state === null || work === null) return null
    const { judgedTexts, workOf } = await lazy.judgedWork()
    return judgedTexts(await workOf(roomsOf(rooms, state), state, work))
  }),
  preview: read(async (rooms, { plan, task, earlier = [] }) => {
    const state = await stateOf(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    if (state === null || found === undefined || ENDED.has(found.status)) return null
    const own = roomsOf(rooms, state)
    // Before the plan is driven there is no worktree yet, and the workspace is what it will start from.
    const before = earlier.flatMap(name => taskIn(state, name) ?? [])
    return await preview(isGone(own) ? rooms : own, state, found, await editsOf(state, before))
  }),
  replay: read(async (rooms, { plan }) => {
    const found = await rooms.store.find(plan)
    return found === null
      ? null
      : await (await import('./replay/replay.ts')).replay(rooms.store, found.plan, found.name, rooms.programs)
  }),
  checkpoints: read(async (rooms, { plan }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : await (await import('./rollback/checkpoints.ts')).checkpoints(rooms, state)
  }),
  checkpoint: read(async (rooms, { plan, checkpoint }) => {
    const state = await stateOf(rooms, plan)
    return state === null
      ? null
      : await (await import('./rollback/checkpoints.ts')).checkpoint(rooms, state, checkpoint)
  }),
  checkpointDiff: read(async (rooms, { plan, from, to }) => {
    const state = await stateOf(rooms, plan)
    if (state === null) return null
    return await (await import('./rollback/checkpoints.ts')).difference(roomsOf(rooms, state), state, from, to)
  }),
  changedFiles: read(async (rooms, { plan }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await (await import('./files/changed-files.ts')).changedFiles(rooms, found.plan)
  }),
  artifacts: read(async (rooms, ask) => await (await import('./records/artifacts.ts')).listArtifacts(rooms, ask)),
  artifactOf: read(async (rooms, ask) => await (await import('./records/artifacts.ts')).artifactOf(rooms, ask)),
  artifact: read(
    async (rooms, ask) =>
      await (await import('./records/artifacts.ts')).artifactBytes(rooms, ask, { confidential: false }),
  ),
  confidentialArtifact: inspect(
    async (rooms, ask) =>
      await (await import('./records/artifacts.ts')).artifactBytes(rooms, ask, { confidential: true }),
  ),
  uploads: read(async (rooms, { plan, task }) => {
    const state = await stateOf(rooms, plan)
    const found = state === null ? undefined : taskIn(state, task)
    return found === undefined ? null : (found.uploads ?? [])
  }),
  blob: inspect((rooms, { sha256 }) => rooms.store.blobs.get(sha256)),
  rollbackPreview: read(async (rooms, { plan, undo, ...ask }) => {
    const found = await rooms.store.find(plan)
    if (found !== null) await sweepClaims(rooms, found.plan)
    const state = await stateOf(rooms, plan)
    if (state === null) return null
    const { workOut } = await import('./rollback/rollback-preview.ts')
    const worked = await workOut(roomsOf(rooms, state), state, undo === true ? 'undo' : 'rollback', ask)
    if (!worked.ok) return worked
    const { command: _, version: __, unsure: ___, changes: ____, ...preview } = worked
    return preview
  }),
  rollbackDiffs: inspect(async (rooms, { plan, undo, ...ask }) => {
    const state = await stateOf(rooms, plan)
    if (state === null) return null
    const { workOut } = await import('./rollback/rollback-preview.ts')
    const own = roomsOf(rooms, state)
    const worked = await workOut(own, state, undo === true ? 'undo' : 'rollback', ask)
    if (!worked.ok) return null
    const back = worked.changes.map(({ path, before, after }) => ({ path, before: after, after: before }))
    return await (await import('./records/task-page.ts')).filesShown(own, back)
  }),
  keptFiles: read(async (rooms, { plan }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : await (await import('./files/kept-files.ts')).keptFiles(roomsOf(rooms, state), state)
  }),
  adoption: read(async (rooms, { plan, into }) => {
    const state = await stateOf(rooms, plan)
    if (state === null) return null
    const { previewAdoption } = await import('./forks/adopt-fork.ts')
    return await previewAdoption(rooms, state, into === undefined ? {} : { into })
  }),
  compare: read(async (rooms, { plan, with: other }) => {
    const [a, b] = [await stateOf(rooms, plan), await stateOf(rooms, other)]
    if (a === null || b === null) return null
    const [{ compareRuns }, { runOf }] = [
      await import('../domain/views/compare.ts'),
      await import('./forks/compare-runs.ts'),
    ]
    return compareRuns(await runOf(rooms, a), await runOf(rooms, b))
  }),
  pullRequest: read(async (rooms, { plan }) => {
    const state = await stateOf(rooms, plan)
    if (state === null) return null
    return await (await import('./git/pull-request.ts')).pullRequest(roomsOf(rooms, state), state)
  }),
  audit: read(async (rooms, { plan, since = 0 }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await (await import('./records/audit.ts')).auditTrail(rooms, found, since)
  }),
  chain: read(async (rooms, { plan, at = [] }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await (await import('./records/verify-chain.ts')).chainOf(rooms.store, found, at)
  }),
  handoff: read(async (rooms, { plan, links = false }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : await (await import('./records/audit.ts')).buildHandoff(rooms, state, links)
  }),
  budget: read(async (rooms, { plan, earlier }) => {
    const state = await stateOf(rooms, plan)
    return state === null
      ? null
      : await (await import('./budget/budget-report.ts')).budgetReport(rooms, state, { earlier })
  }),
  digest: read(async (rooms, { plan, since }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : await (await import('./records/audit.ts')).digestSince(rooms, state, since)
  }),
  proposals: read(async (rooms, { plan }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await (await import('./revisions/proposals.ts')).proposals(rooms, found.plan)
  }),
  converging: read(async (rooms, { plan }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : await (await import('./revisions/converge.ts')).converging(rooms, state)
  }),
  drift: read(async (rooms, { plan, files }) => {
    const state = await stateOf(rooms, plan)
    return state === null
      ? null
      : await (await import('./revisions/drift.ts')).drift(roomsOf(rooms, state), state, { files })
  }),
  contract: read(async (rooms, { plan }) => {
    const found = await rooms.store.find(plan)
    return found === null ? null : await (await import('./records/audit.ts')).contract(rooms, found.plan)
  }),
  lessons: read(async (rooms, { file }) => await (await lazy.lessons()).lessons(rooms, { file })),
  inbox: read(async rooms => await (await import('./gates/inbox.ts')).inbox(rooms)),
  questions: read(async (rooms, { plan, id }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : await (await import('./gates/inbox.ts')).questions(rooms, state, id)
  }),
  reviews: read(async (rooms, { plan }) => {
    const state = await stateOf(rooms, plan)
    return state === null ? null : (await import('./gates/inbox.ts')).reviews(rooms, state)
  }),
  inboxFate: read(async (rooms, { id }) => await (await import('./gates/inbox.ts')).inboxFate(rooms, id)),
  position: read(rooms => rooms.store.position()),
  workers: read(async rooms => await (await import('./loop/list-workers.ts')).listWorkers(rooms)),
  check: administer((rooms, options) => rooms.store.check(options)),
  prune: administer(async (rooms, { before, dryRun, moved: isNamed }) => {
    const blobsBefore = Math.min(before, rooms.clock.now() - BLOBS_STAY_MS)
    const pruned = await rooms.store.prune({ before, blobsBefore, dryRun })
    const { pruneMoved } = await import('./files/beyond-scope.ts')
    const { pruneAgentHomes } = await lazy.agentHomes()
    const moved = await pruneMoved(rooms, { before, remove: isNamed === true && !dryRun })
    return { ...pruned, moved, agentHomes: await pruneAgentHomes(rooms, { before, dryRun }) }
  }),
}

/** An unowned plan gets its due questions and alarms before it is shown. */
async function upToDateState(rooms: Rooms, reference: string): Promise<PlanState | null> {
  const state = await stateOf(rooms, reference)
  if (state === null || !hasDueAlarm(state, rooms.clock.now())) return state
  await (await lazy.dueQuestions()).raiseDueQuestions(rooms, state.id)
  return await rooms.store.state(state.id)
}

async function stateOf(rooms: Rooms, reference: string): Promise<PlanState | null> {
  const found = await rooms.store.find(reference)
  return found === null ? null : await rooms.store.state(found.plan)
}

export const artifactsIn = (outputs: Json | undefined): readonly Json[] =>
  isMap(outputs) ? Object.values(outputs).flatMap(value => (isMap(value) ? (value.artifact ?? []) : [])) : []

/** Serialised before the first await, because the state is live. */
async function stateNow(rooms: Rooms, state: PlanState): Promise<AnswerOf<'state'>> {
  const { definition: _, tasks, ...plan } = packFold(state)
  const { version } = state
  const fold = { ...plan, tasks: (tasks as readonly JsonObject[]).map(withoutToken) }
  const definition = wholeDefinition(state)
  const [last] = await rooms.store.read(state.id, { after: version - 1, limit: 1 })
  return last === undefined ? null : { version, position: last.position, fold, definition }
}

/** With the token of a claim, a reader could report in the claimant's name. */
function withoutToken(task: JsonObject): JsonObject {
  if (!isMap(task.claim)) return task
  const { token: _, ...claim } = task.claim
  return { ...task, claim }
}

const UNCHANGED = { unchanged: true } as const

/** The task list of an unsealed draft grows in place, so the answer gets a copy. */
const wholeDefinition = (state: PlanState): PlanState['definition'] =>
  isUnsealed(state) ? { ...state.definition, tasks: [...state.definition.tasks] } : state.definition

function taskIn(state: PlanState, reference: string): TaskState | undefined {
  if (isTaskName(reference)) return state.tasks.get(reference as TaskName)
  const id = parseTaskId(reference)
  return id === null || id.plan !== state.id ? undefined : state.order.find(task => task.ordinal === id.ordinal)
}

const LOG_PAGE = 500

/** A task that a revision removed has a log, too. Null: there is no such plan or task. */
async function loggedTask(
  rooms: Rooms,
  plan: string,
  task: string | undefined,
): Promise<{ readonly plan: PlanId; readonly task?: TaskName } | null> {
  const state = await stateOf(rooms, plan)
  if (state === null || task === undefined) return state === null ? null : { plan: state.id }
  const name = taskIn(state, task)?.definition.id ?? (isTaskName(task) ? (task as TaskName) : undefined)
  return name === undefined ? null : { plan: state.id, task: name }
}

async function pastDefinition(rooms: Rooms, plan: PlanId, revision: number): Promise<AnswerOf<'definition'>> {
  for (let after = 0; ; ) {
    const entries = await rooms.store.read(plan, { after, limit: 500 })
    for (const entry of entries) {
      for (const event of entry.events) {
        if (revisionIn(event) === revision && 'definition' in event)
          return { definition: event.definition, revision, hash: event.hash }
      }
    }
    const last = entries.at(-1)
    if (last === undefined) return null
    after = last.version
  }
}

/** Whose words the definition is, where it claims an approval. */
async function authorOf({ store }: Rooms, { id, definition, revision }: PlanState): Promise<string | null> {
  if (definition.approval === undefined) return null
  for (let after = 0; ; ) {
    const entries = await store.read(id, { after, limit: 500 })
    const found = entries.find(({ events }) => events.some(event => revisionIn(event) === revision))
    const last = entries.at(-1)
    if (found !== undefined || last === undefined) return found?.actor ?? null
    after = last.version
  }
}

const revisionIn = (event: Event): number | null =>
  event.type === 'plan.created' ? 1 : event.type === 'plan.revised' ? event.revision : null

async function removedTask(rooms: Rooms, plan: PlanId, task: TaskName): Promise<Removed | null> {
  const { RemovedFinder } = await import('../domain/views/board.ts')
  const finder = new RemovedFinder(task)
  for (let after = 0; ; ) {
    const entries = await rooms.store.read(plan, { after, limit: 500 })
    for (const entry of entries) finder.read(entry)
    const last = entries.at(-1)
    if (last === undefined) return finder.found
    after = last.version
  }
}

async function editsOf(state: PlanState, tasks: readonly TaskState[]): Promise<readonly Edit[]> {
  const edits: Edit[] = []
  for (const task of tasks) {
    const facts = actionFacts(task.definition.action)
    if (facts.edits === undefined || ENDED.has(task.status)) continue
    const resolved = await resolveAttempt(state, task)
    if (resolved.ok) edits.push(...facts.edits(resolved.value.action))
  }
  return edits
}

async function preview(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  imagined: readonly Edit[],
): Promise<{ readonly text: string } | null> {
  const runner = rooms.runners.get(task.definition.action.type)
  if (runner?.preview === undefined) return null
  const resolved = await resolveAttempt(state, task)
  if (!resolved.ok) return { text: `not known yet: ${resolved.message}` }
  const shown = await runner.preview(
    resolved.value,
    {
      root: rooms.root,
      stateDir: rooms.stateDir,
      owner: 'preview',
      write: null,
      environment: rooms.environment,
      about: rooms.about,
      evaluate: () => ({ ok: false, message: 'a preview evaluates nothing' }),
      log: () => {},
      monotonic: rooms.clock.monotonic,
      imagined,
    },
    new AbortController().signal,
  )
  const given = sandboxedCommand(resolved.value.action) !== null ? environmentLines(resolved.value.env) : []
  return given.length === 0 ? shown : { text: [shown.text.trimEnd(), ...given].join('\n') }
}

const VALUE_MAX = 500

function environmentLines(env: Attempt['env']): readonly string[] {
  return Object.entries(env).map(([name, value]) => {
    const text = value.length > VALUE_MAX ? `${value.slice(0, VALUE_MAX)}…` : value
    return `with ${name}=${/^[\w@%+=:,./-]+$/.test(text) ? text : JSON.stringify(text)}`
  })
}

const titled = (state: PlanState, cards: readonly Card[]): Promise<readonly Card[]> =>
  withTitles(state, cards, ({ name }) => state.tasks.get(name))

function withDue(state: PlanState, tasks: readonly TaskState[], now: number): readonly TaskState[] {
  const due = retriedTasks(state).filter(({ retryAt }) => retryAt !== null && retryAt <= now)
  if (due.length === 0) return tasks
  const all = new Set([...tasks, ...due])
  return state.order.filter(task => all.has(task))
}

const retriedTasks = perVersion(state =>
  state.order.filter(
    ({ status, retryAt, definition }) =>
      retryAt !== null && status === 'ready' && definition.action.type === 'external',
  ),
)

const byPriority = (state: PlanState, tasks: readonly TaskState[]): readonly TaskState[] =>
  hasPriorities(state) ? tasks.toSorted((a, b) => (b.definition.priority ?? 0) - (a.definition.priority ?? 0)) : tasks

const hasPriorities = perDefinition(({ order }) => order.some(({ definition }) => definition.priority !== undefined))
