// Search: what is found, by which words, and until when.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { external, name, numberedPlanId, numberedSha, plan, START, task } from '../../testing/index.ts'
import { BadCursor, type SearchHit, type SearchQuery, type Store } from '../store.ts'
import { ana, carryOut, given, must, one, type Setup } from './harness.contract.ts'

const log = (plan: PlanId, text: string, to = 'a') =>
  ({ plan, task: name(to), visit: 1, attempt: 1, stream: 'stdout', at: 7, text }) as const

/** One word for each hit. */
async function found(store: Store, text: string, query: Partial<SearchQuery> = {}): Promise<readonly string[]> {
  const { items, complete } = await store.search({ text, ...query })
  expect(complete).toBe(true)
  return items.map(label)
}
const label = ({ kind, name: plan, task, log: place }: SearchHit) =>
  kind === 'plan' ? plan : kind === 'task' ? `${plan}/${task}` : `${plan}/${task}:${place!.seq}`

export function searchContract(what: string, setup: Setup): void {
  describe(`${what}: search`, () => {
    it('finds plans by name, title, goal and label; tasks by name, title, description, instruction and kind; output', async () => {
      const { store } = await one(setup)
      const id = await given(
        store,
        plan(
          'alpha-one',
          task('a', { title: 'Bravo', description: 'Charlie' }),
          external('delta', {
            instruction: 'Echo the foxtrot',
            kind: 'golf',
            needs: ['a'],
          }),
          { title: 'Hotel', goal: 'Reach India', labels: ['juliett'] },
        ),
      )
      await given(store, plan('other', task('kilo')), 2)
      await must(store, id, START)
      await store.logs.append([log(id, 'lima\nmike and november')])
      for (const text of ['alpha', 'ONE', 'hotel', 'india', 'Juliett', 'reach hotel'])
        expect(await found(store, text)).toEqual(['alpha-one'])
      for (const text of ['bravo', 'charl', 'a bravo']) expect(await found(store, text)).toEqual(['alpha-one/a'])
      for (const text of ['delta', 'echo', 'foxtrot echo', 'golf'])
        expect(await found(store, text)).toEqual(['alpha-one/delta'])
      for (const text of ['lima', 'november mike', 'Novem']) expect(await found(store, text)).toEqual(['alpha-one/a:1'])
      for (const text of ['echo lima', 'vember', 'zulu', '', ' ', '"', '*'])
        expect(await found(store, text)).toEqual([])
      expect(await found(store, 'kilo')).toEqual(['other/kilo'])
      expect(await found(store, 'kilo', { plan: id })).toEqual([])
    })

    it('a hit says where it stands, and shows the words around it in one plain line', async () => {
      const { store, clock } = await one(setup)
      const at = clock.wall
      const id = await given(
        store,
        plan('first', task('a', { title: 'Mend the Café', description: 'cafes and\nmore' })),
      )
      await store.logs.append([log(id, `${'x'.repeat(500)} \u001b[31mcafé\u001b[0m closed ${'y'.repeat(500)}`)])
      const { items } = await store.search({ text: 'cafe' })
      expect(items).toHaveLength(2)
      expect(items[0]).toEqual({
        kind: 'task',
        plan: id,
        name: 'first',
        task: 'a',
        snippet: 'a Mend the Café cafes and more',
        matches: [
          [11, 15],
          [16, 21],
        ],
        at,
        log: null,
      })
      const { snippet, matches, log: place, at: when } = items[1]!
      expect([place, when]).toEqual([{ seq: 1, visit: 1, attempt: 1, stream: 'stdout' }, 7])
      expect(matches.map(([from, to]) => snippet.slice(from, to))).toEqual(['café'])
      expect(snippet.length).toBeLessThanOrEqual(200)
      expect(snippet).not.toMatch(/\p{Cc}/u)
    })

    it('looks only in some plans and in all plans of some sessions, and pages end with what is found there', async () => {
      const { store } = await one(setup)
      const [a, b] = [await given(store, plan('one', task('kilo'))), await given(store, plan('two', task('kilo')), 2)]
      const created = { type: 'create', plan: numberedPlanId(3), hash: numberedSha(1), session: 's' } as const
      await store.create({ ...created, definition: plan('three', task('kilo')) }, ana)
      for (const id of [a, b]) {
        await must(store, id, START)
        await store.logs.append([log(id, 'kilo', 'kilo')])
      }
      expect(await found(store, 'kilo', { within: {} })).toEqual([])
      expect(await found(store, 'kilo', { within: { sessions: ['s', 'other'] } })).toEqual(['three/kilo'])
      expect(await found(store, 'kilo', { within: { plans: [a] } })).toEqual(['one/kilo', 'one/kilo:1'])
      expect(await found(store, 'kilo', { within: { plans: [a] }, plan: b })).toEqual([])
      const first = await store.search({ text: 'kilo', limit: 1, within: { plans: [a] } })
      const second = await store.search({ text: 'kilo', limit: 1, within: { plans: [a] }, cursor: first.next! })
      expect([first.items.map(label), second.items.map(label), second.next]).toEqual([
        ['one/kilo'],
        ['one/kilo:1'],
        null,
      ])
    })

    it('follows the journal: revisions and tasks that are gone; and archived plans only when asked', async () => {
      const { store } = await one(setup)
      const id = await given(store, plan('first', task('old', { title: 'shared' }), task('b')))
      expect(await found(store, 'old')).toEqual(['first/old'])
      await must(store, id, {
        type: 'revise',
        definition: plan('first', task('b'), task('fresh', { title: 'shared' }), { title: 'second' }),
        hash: numberedSha(2),
        rationale: 'other',
      })
      expect(await found(store, 'old')).toEqual([])
      expect(await found(store, 'second')).toEqual(['first'])
      expect(await found(store, 'shared')).toEqual(['first/fresh'])
      expect((await store.check()).faults).toEqual([])
      await must(store, id, { type: 'archive' })
      expect(await found(store, 'shared')).toEqual([])
      expect(await found(store, 'shared', { archived: true })).toEqual(['first/fresh'])
    })

    it('a plan that was pruned is gone from everything', async () => {
      const { store, clock } = await one(setup)
      const id = await given(store, plan('doomed', task('a')))
      await carryOut(store, id)
      await store.logs.append([log(id, 'doomed output')])
      expect(await found(store, 'doomed')).toEqual(['doomed', 'doomed/a:1'])
      await must(store, id, { type: 'archive' })
      await given(store, plan('kept', task('doomed')), 2)
      clock.pass(1_000)
      await store.prune({ before: clock.wall, dryRun: false })
      expect(await found(store, 'doomed', { archived: true })).toEqual(['kept/doomed'])
      expect((await store.steps({ by: 'plan' })).items).toEqual([])
      expect(await store.check({ readData: true })).toMatchObject({ ok: true, faults: [] })
      await given(store, plan('doomed', task('a')), 3)
      expect(await found(store, 'doomed')).toEqual(['doomed', 'kept/doomed'])
    })

    it('goes page by page through plans, tasks and output, newest first, whatever is added meanwhile', async () => {
      const { store } = await one(setup)
      for (let number = 1; number <= 3; number++) {
        const id = await given(store, plan(`word-${number}`, task('a', { title: 'word' }), task('b')), number)
        await must(store, id, START)
        await store.logs.append([log(id, 'some words'), log(id, 'nothing')])
      }
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = await store.search({ text: 'word', limit: 2, cursor })
        seen.push(...page.items.map(label))
        cursor = page.next ?? undefined
        if (seen.length === 4) await given(store, plan('word-9', task('a')), 9)
      } while (cursor !== undefined)
      expect(seen).toEqual([
        ...['word-3', 'word-2', 'word-1', 'word-3/a', 'word-2/a', 'word-1/a'],
        ...['word-3/a:5', 'word-2/a:3', 'word-1/a:1'],
      ])
      expect(await found(store, 'word', { kinds: ['log'] })).toHaveLength(3)
      expect(await found(store, 'word', { kinds: ['task'], limit: 1 })).toEqual(['word-3/a'])
      await expect(store.search({ text: 'word', cursor: (await store.plans({ limit: 1 })).next! })).rejects.toThrow(
        BadCursor,
      )
    })

    it('a list goes on where it was although the plan its cursor names was pruned', async () => {
      const { store, clock } = await one(setup)
      for (let number = 1; number <= 4; number++) await given(store, plan(`word-${number}`, task('a')), number)
      const pages = { text: 'word', limit: 2 }
      const { items, next } = await store.plans(pages)
      for (const { id } of items) await must(store, id, { type: 'archive' })
      clock.pass(1_000)
      await store.prune({ before: clock.wall, dryRun: false })
      const rest = await store.plans({ ...pages, cursor: next! })
      expect(rest.items.map(row => row.name)).toEqual(['word-2', 'word-1'])
    })

    it('nothing anybody writes is an operator: each text is its words, found or not, and never an error', async () => {
      const { store } = await one(setup)
      const id = await given(store, plan('not-near', task('a', { title: 'NOT this OR that' })))
      await store.logs.append([log(id, 'plan: task: near miss')])
      expect(await found(store, 'NOT')).toEqual(['not-near', 'not-near/a'])
      expect(await found(store, 'this OR nothing')).toEqual([])
      expect(await found(store, '"this" AND (that)*')).toEqual([])
      expect(await found(store, '"this" (or) {that}^')).toEqual(['not-near/a'])
      expect(await found(store, 'plan : miss')).toEqual(['not-near/a:1'])
      expect(await found(store, 'NEAR(miss, 2)')).toEqual([])
      const hostile = fc.array(
        fc.oneof(
          fc.constantFrom(
            '"',
            "'",
            '*',
            '^',
            '(',
            ')',
            '{',
            '}',
            ':',
            '-',
            '+',
            'NEAR',
            'AND',
            'OR',
            'NOT',
            ';',
            '%',
            '\0',
            '\\',
          ),
          fc.string({ unit: 'binary', maxLength: 8 }),
        ),
        { maxLength: 12 },
      )
      await fc.assert(
        fc.asyncProperty(hostile, async parts => {
          const text = parts.join(' ')
          await store.search({ text })
          await store.plans({ text })
        }),
        { numRuns: Number(process.env.PLANFOLD_RUNS ?? 50) },
      )
    })

    it('several processes that catch up at the same time find the same', async () => {
      const { store, open } = await one(setup)
      const other = await open()
      for (let number = 1; number <= 20; number++) await given(store, plan(`word-${number}`, task('a')), number)
      const answers = await Promise.all(
        [store, other, store, other].map(each => each.search({ text: 'word', limit: 50 })),
      )
      for (const answer of answers) expect(answer).toEqual(answers[0])
      expect(answers[0]!.items).toHaveLength(20)
      expect((await store.check()).faults).toEqual([])
    })

    it('is made again from the journal when somebody asks for that', async () => {
      const { store } = await one(setup)
      const id = await given(store, plan('first', task('a')))
      await carryOut(store, id)
      await store.logs.append([log(id, 'printed')])
      const before = [
        await store.search({ text: 'a' }),
        await store.steps({ by: 'kind' }),
        await found(store, 'printed'),
      ]
      await store.tidy({ rebuild: true })
      expect([
        await store.search({ text: 'a' }),
        await store.steps({ by: 'kind' }),
        await found(store, 'printed'),
      ]).toEqual(before)
      expect((await store.check()).faults).toEqual([])
    })
  })
}
