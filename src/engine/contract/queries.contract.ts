// Questions: every one of them is answered as the Engine beside the store answers it, and lists page to their end.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import { BadCursor } from '../../stores/store.ts'
import { external, gate, plan, task } from '../../testing/index.ts'

import type { QueryOf, QueryType } from '../queries.ts'
import { type Harness, Person, type Setup } from './harness.contract.ts'

/** One of each; of a plan where it takes one. */
function queriesAbout(plan: PlanId): { readonly [T in QueryType]: QueryOf<T> } {
  const about = { plan, task: 'a' }
  return {
    find: { type: 'find', reference: plan },
    state: { type: 'state', plan },
    summary: { type: 'summary', plan },
    board: { type: 'board', plan },
    task: { type: 'task', ...about },
    briefing: { type: 'briefing', ...about },
    removed: { type: 'removed', ...about },
    definition: { type: 'definition', plan },
    next: { type: 'next', plan, explain: true },
    plans: { type: 'plans', status: 'active' },
    overview: { type: 'overview', since: 0, order: 'name' },
    tasks: { type: 'tasks', plan, order: 'sequence' },
    attempts: { type: 'attempts', plan, task: 'a' as TaskName },
    metrics: { type: 'metrics', plan },
    entries: { type: 'entries', plan, after: 1 },
    record: { type: 'record', plan },
    records: { type: 'records', plan, tasks: ['a', 'g'] },
    logs: { type: 'logs', plan },
    linesBefore: { type: 'linesBefore', ...about, before: 1 },
    agentSteps: { type: 'agentSteps', ...about },
    taskPage: { type: 'taskPage', ...about },
    taskChanges: { type: 'taskChanges', ...about },
    why: { type: 'why', path: 'a.txt', plan },
    consent: { type: 'consent', plan, task: 'g' },
    judgedWork: { type: 'judgedWork', plan, task: 'g' },
    preview: { type: 'preview', plan, task: 'r' },
    replay: { type: 'replay', plan },
    checkpoints: { type: 'checkpoints', plan },
    checkpoint: { type: 'checkpoint', plan, checkpoint: 'here' },
    checkpointDiff: { type: 'checkpointDiff', plan, from: 'here' },
    changedFiles: { type: 'changedFiles', plan },
    artifacts: { type: 'artifacts', plan, task: 'a', limit: 5 },
    artifactOf: { type: 'artifactOf', ...about, name: 'none' },
    confidentialArtifact: { type: 'confidentialArtifact', plan, sha256: '0'.repeat(64) as Sha256 },
    uploads: { type: 'uploads', ...about },
    artifact: { type: 'artifact', plan, sha256: '0'.repeat(64) as Sha256 },
    blob: { type: 'blob', sha256: '0'.repeat(64) as Sha256 },
    keptFiles: { type: 'keptFiles', plan },
    rollbackPreview: { type: 'rollbackPreview', plan },
    rollbackDiffs: { type: 'rollbackDiffs', plan },
    adoption: { type: 'adoption', plan },
    compare: { type: 'compare', plan, with: plan },
    pullRequest: { type: 'pullRequest', plan },
    audit: { type: 'audit', plan },
    chain: { type: 'chain', plan, at: [1, 2] },
    handoff: { type: 'handoff', plan },
    digest: { type: 'digest', plan, since: 0 },
    contract: { type: 'contract', plan },
    budget: { type: 'budget', plan },
    inbox: { type: 'inbox' },
    lessons: { type: 'lessons' },
    questions: { type: 'questions', plan },
    reviews: { type: 'reviews', plan },
    inboxFate: { type: 'inboxFate', id: 'nothing' },
    position: { type: 'position' },
    workers: { type: 'workers' },
    check: { type: 'check' },
    prune: { type: 'prune', before: 0, dryRun: true },
    proposals: { type: 'proposals', plan },
    converging: { type: 'converging', plan },
    drift: { type: 'drift', plan },
    evaluations: { type: 'evaluations', ...about },
    search: { type: 'search', text: 'asked' },
    steps: { type: 'steps', plan },
  }
}

/** Answer the same for a plan that is not there: nothing, or a list without it. */
const OF_ALL: ReadonlySet<QueryType> = new Set([
  'plans',
  'overview',
  'tasks',
  'attempts',
  'blob',
  'inbox',
  'inboxFate',
  'lessons',
  'position',
  'workers',
  'check',
  'prune',
  'search',
])

export function queriesContract(what: string, setup: Setup): void {
  describe(`${what}: questions`, () => {
    let harness: Harness
    let ana: Person
    let asked: PlanId
    beforeAll(async () => {
      harness = await setup()
      ana = new Person(harness, 'ana')
      asked = await ana.starts(
        plan(
          'asked-about',
          external('a', { accept: [{ type: 'prose', text: 'it is good' }] }),
          gate('g', { needs: ['a'] }),
          task('r', { needs: ['g'] }),
          { title: 'To be asked', done: [{ type: 'prose', text: 'all is well' }] },
        ),
      )
      await ana.does(asked, { type: 'checkpoint', name: 'here' })
      await ana.carriesOut(asked, 'a')
    })
    afterAll(() => harness.close())

    test('every question is answered as beside the store', async () => {
      for (const query of Object.values(queriesAbout(asked))) {
        const answer = await ana.engine.ask(query as QueryOf<QueryType>)
        const expected = await harness.local.ask(query as QueryOf<QueryType>)
        expect({ [query.type]: timeless(answer) }).toEqual({ [query.type]: timeless(expected) })
      }
    })

    test('of a plan that is not there nothing is known', async () => {
      const nobody = idOfNobody(asked)
      for (const query of Object.values(queriesAbout(nobody))) {
        if (OF_ALL.has(query.type)) continue
        expect({ [query.type]: await ana.engine.ask(query as QueryOf<QueryType>) }).toEqual({ [query.type]: null })
      }
      expect(await ana.engine.ask({ type: 'tasks', plan: nobody })).toEqual({ items: [], next: null })
    })

    test('an order to a plan that is not there is refused with a hint', async () => {
      expect(await ana.isRefused('nobody', { type: 'start' })).toMatchObject({
        code: 'not-found',
        hint: expect.anything(),
      })
    })

    test('a list pages to its end, each item once, and refuses a cursor of another list', async () => {
      for (let count = 1; count <= 7; count++) await ana.creates(plan(`page-${count}`, external('a')))
      const seen: string[] = []
      let next: string | null = null
      do {
        const page: { items: readonly { name: string }[]; next: string | null } = await ana.engine.ask({
          type: 'plans',
          status: 'draft',
          limit: 3,
          ...(next === null ? {} : { cursor: next }),
        })
        seen.push(...page.items.map(({ name }) => name))
        next = page.next
      } while (next !== null)
      expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1].map(count => `page-${count}`))
      await expect(ana.engine.ask({ type: 'plans', cursor: 'nonsense' })).rejects.toBeInstanceOf(BadCursor)
    })
  })
}

/** How long something took differs from one asking to the next; the tokens of claims do not travel with the journal. */
function timeless(value: unknown): unknown {
  if (value instanceof Uint8Array) return value
  return JSON.parse(
    JSON.stringify(value ?? null, (key, one) => {
      if (key === 'token') return undefined
      return /^(?:.*Ms|ms|asOf|now|at)$/.test(key) && typeof one === 'number' ? 0 : one
    }),
  )
}

/** Another digit before the eight that number its tasks, so that it is surely the id of another plan. */
const idOfNobody = (plan: string): PlanId => `${plan.slice(0, -9)}${plan.at(-9) === 'f' ? '0' : 'f'}00000000` as PlanId
