// Stock templates at work: plans made of them run through the real engine, with workers that report what the test says.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../src/domain/json.ts'
import { checkGraph } from '../src/domain/plan-rules/graph-rules.ts'
import { exited, setup } from '../src/engine/rooms.fixture.ts'
import { readTemplate } from '../src/extras/templates/document.ts'
import { instantiate } from '../src/extras/templates/instantiate.ts'
import { GOLDEN, stockTemplate } from '../src/extras/templates/stock.fixture.ts'

type Reports = { readonly [task: string]: JsonObject | ((visit: number) => JsonObject) }

/** Runs a plan of a template to its end; answers with the order in which tasks were reported and how everything ended. */
async function work(
  name: string,
  given: JsonObject,
  reports: Reports,
  exitOf: (task: string, visit: number) => number = () => 0,
) {
  const made = instantiate(stockTemplate(name), given, { check: checkGraph })
  if (!made.ok) throw new Error(JSON.stringify([made.problems, made.diagnostics]))
  const room = setup(async attempt => exited(exitOf(attempt.task, attempt.visit)))
  const plan = await room.define(made.definition)
  const told: string[] = []
  for (let turn = 0; turn < 60; turn++) {
    await room.drive(plan)
    const board = (await room.engine.ask({ type: 'board', plan })) ?? []
    const definition = (await room.engine.ask({ type: 'definition', plan }))!.definition
    const isGate = (task: string) => definition.tasks.find(({ id }) => id === task)?.action.type === 'gate'
    const open = board.find(({ status, name }) => (status === 'waiting' && isGate(name)) || status === 'ready')
    if (open === undefined) break
    told.push(open.name)
    if (isGate(open.name)) {
      await room.engine.submit(plan, { type: 'decide', task: open.name, verdict: 'approved', rationale: '' })
      continue
    }
    const key = Object.keys(reports).find(key => open.name === key || open.name.startsWith(`${key}/`))
    const report = key === undefined ? {} : reports[key]!
    const { outcome, ...outputs } = typeof report === 'function' ? report(open.visit) : report
    const result = {
      status: 'succeeded' as const,
      outputs,
      ...(outcome === undefined ? {} : { outcome: String(outcome) }),
    }
    const said = await room.engine.submit(plan, { type: 'report', task: open.name, result })
    if (!said.ok) throw new Error(`${open.name}: ${said.refusal.message}`)
  }
  return { told, statuses: await room.statuses(plan), attempts: room.attempts }
}

const FIX: { readonly [task: string]: { readonly [output: string]: Json } } = {
  context: { symptom: '500s', impact: '2 %', frequency: 'hourly', first_seen: 'May', last_known_good: 'v1.8.0' },
  instrument: { added: 'ids' },
  reproduce: { runs: 10, failures: 3 },
  'minimal-reproduction': { steps: 'a, b', expected: 'c', actual: 'd', environment: 'e', seed: 1, artifacts: [] },
  bisect: { first_bad: 'abc123' },
  'fix-plan': {
    root_cause: 'race',
    changes: ['lock'],
    risks: 'few',
    rollout: 'all',
    monitoring: 'rate',
    rollback: 'revert',
  },
  'regression-test': { fails_without_fix: true },
  verify: { runs: 100, failures: 0 },
  postmortem: { root_cause: 'race', contributing_factors: [], detection_gaps: [], action_items: ['lint'] },
}
const test1 = (verdict: string) => ({ command: 'x', expected: 'y', observed: 'z', evidence: 'log', verdict })

describe('the debug template', () => {
  test('goes from hypothesis to hypothesis until one is confirmed, fixes, verifies and learns', async () => {
    const { told, statuses } = await work('debug', GOLDEN.debug!, {
      ...FIX,
      'test-h1': test1('refuted'),
      'test-h2': test1('confirmed'),
    })
    const reproductions = told.filter(task => task.startsWith('reproduce/'))
    expect(reproductions).toHaveLength(8)
    expect(told.filter(task => !task.startsWith('reproduce/'))).toEqual([
      'context',
      'instrument',
      'minimal-reproduction',
      'bisect',
      'test-h1',
      'test-h2',
      'fix-plan',
      'approve-fix',
      'fix',
      'regression-test',
      'verify',
      'postmortem',
    ])
    expect(statuses).toMatchObject({
      plan: 'completed',
      'test-h3': 'skipped',
      'decide-h3': 'skipped',
      rethink: 'skipped',
    })
  })

  test('ends unsolved, not completed, when every hypothesis is refuted', async () => {
    const { told, statuses } = await work('debug', GOLDEN.debug!, {
      ...FIX,
      'test-h1': test1('refuted'),
      'test-h2': test1('refuted'),
      'test-h3': test1('refuted'),
      rethink: { learnt: 'it is something else' },
    })
    expect(told.at(-1)).toBe('rethink')
    expect(statuses).toMatchObject({ plan: 'failed', fix: 'skipped', verify: 'skipped' })
  })
})

describe('the other stock templates', () => {
  test('research-then-build goes round until the validation holds, and asks each question', async () => {
    const answer = { answer: 'yes', sources: ['https://a.example', 'https://b.example'], confidence: 0.9 }
    const { told, statuses } = await work(
      'research-then-build',
      { ...GOLDEN['research-then-build']!, definition_of_done: [] },
      {
        intake: { constraints: 'few', measures: ['fast'], unknowns: [] },
        'research-q1': answer,
        'research-q2': answer,
        synthesis: { summary: 'so', contradictions: [], uncertainties: [] },
        build: { changed: ['src/a.ts'] },
        replan: { changes: ['more'] },
        handoff: { document: 'docs/a.md' },
      },
      (task, visit) => (task === 'validate' && visit === 1 ? 1 : 0),
    )
    expect(told).toEqual([
      'intake',
      'research-q1',
      'research-q2',
      'synthesis',
      'validation-gate',
      'build',
      'replan',
      'build',
      'handoff',
    ])
    expect(statuses).toMatchObject({ plan: 'completed', handoff: 'completed' })
  })

  test('research-then-build refuses an answer with too few sources', async () => {
    const { statuses } = await work('research-then-build', GOLDEN['research-then-build']!, {
      intake: { constraints: 'few', measures: ['fast'], unknowns: [] },
      'research-q1': { answer: 'yes', sources: ['https://a.example'], confidence: 1 },
    })
    expect(statuses).toMatchObject({ 'research-q1': 'running', synthesis: 'pending' })
  })

  const ROLLOUT = {
    readiness: { ready: true, on_call: 'ana' },
    'rehearse-rollback': { minutes: 2 },
    backup: { location: 'there' },
    deploy: { deployed: 'all' },
    rollback: { restored: true, cause: 'errors' },
  }
  const stages = (rates: readonly number[]) =>
    Object.fromEntries(
      rates.flatMap((error_rate, at) => [
        [`deploy-${at + 1}`, { deployed: 'some' }],
        [
          `watch-${at + 1}`,
          {
            canary_errors: Math.round(error_rate * 1_000),
            canary_requests: 1_000,
            baseline_errors: 40,
            baseline_requests: 10_000,
            latency_ms: 100,
          },
        ],
      ]),
    )

  test('staged-rollout reaches everybody when every stage is good', async () => {
    const { statuses } = await work('staged-rollout', GOLDEN['staged-rollout']!, {
      ...ROLLOUT,
      ...stages([0, 0.001, 0.005]),
    })
    expect(statuses).toMatchObject({ plan: 'completed', 'watch-3': 'completed', rollback: 'skipped' })
  })

  test('staged-rollout rolls back at the first bad stage, goes no further, and does not end completed', async () => {
    const { told, statuses } = await work('staged-rollout', GOLDEN['staged-rollout']!, {
      ...ROLLOUT,
      ...stages([0, 0.2, 0]),
    })
    expect(told.at(-1)).toBe('rollback')
    expect(told).not.toContain('deploy-3')
    expect(statuses).toMatchObject({ plan: 'failed', rollback: 'completed', 'watch-2': 'failed' })
  })

  test('staged-rollout rolls back where the new version has more errors than the one before, though below the limit', async () => {
    // 9 of 1,000 against 40 of 10,000: within 1 %, and p = 0.0297 by Fisher's test.
    const { statuses } = await work('staged-rollout', GOLDEN['staged-rollout']!, {
      ...ROLLOUT,
      ...stages([0.009, 0, 0]),
    })
    expect(statuses).toMatchObject({ plan: 'failed', rollback: 'completed', 'watch-1': 'failed' })
  })

  test('feature-with-tests wants the new tests to fail first', async () => {
    const reports = {
      specify: { cases: ['one'] },
      'write-tests': { tests_added: 1 },
      implement: {},
      document: { files: ['docs/a.md'] },
    }
    const given = { feature: 'It counts' }
    const good = await work('feature-with-tests', given, reports, (task, _) => (task === 'see-them-fail' ? 1 : 0))
    expect(good.statuses).toMatchObject({ plan: 'completed', review: 'completed' })
    const vain = await work('feature-with-tests', given, reports)
    expect(vain.statuses).toMatchObject({ 'see-them-fail': 'failed', implement: 'blocked' })
  })

  test('multi-file-refactor repairs what it broke', async () => {
    const { told, statuses } = await work(
      'multi-file-refactor',
      GOLDEN['multi-file-refactor']!,
      {
        'pin-behaviour': { tests_added: 3 },
        'refactor-1': { summary: 'a' },
        'refactor-2': { summary: 'b' },
        'refactor-3': { summary: 'c' },
        repair: { cause: 'a name' },
        compare: { differences: [] },
      },
      (task, visit) => (task === 'test' && visit === 1 ? 1 : 0),
    )
    expect(told).toEqual(['pin-behaviour', 'refactor-1', 'refactor-2', 'refactor-3', 'repair', 'compare', 'review'])
    expect(statuses).toMatchObject({ plan: 'completed' })
  })

  test('dependency-upgrade, incident-postmortem and research-then-implement run to their ends', async () => {
    const upgrade = await work('dependency-upgrade', GOLDEN['dependency-upgrade']!, {
      changelog: { breaking: [], uses: [], sources: ['https://x.example'] },
      adapt: { changed: [] },
      compare: { moved: [] },
    })
    expect(upgrade.statuses).toMatchObject({ plan: 'completed', audit: 'completed' })
    const postmortem = await work('incident-postmortem', GOLDEN['incident-postmortem']!, {
      'evidence-1': { events: ['a'], links: [] },
      'evidence-2': { events: ['b'], links: [] },
      timeline: { timeline: ['a'], minutes_to_detect: 1, minutes_to_mitigate: 40 },
      impact: { impact: 'some', data_lost: false },
      causes: { root_cause: 'x', contributing_factors: ['y'], detection_gaps: [], went_well: [] },
      'action-items': { items: [{ action: 'a', owner: 'ana', due: 'May' }] },
      notice: { text: 'sorry' },
      publish: { link: 'there' },
      'follow-up': { open: [] },
    })
    expect(postmortem.statuses).toMatchObject({ plan: 'completed' })
    const feature = await work(
      'research-then-implement',
      { ...GOLDEN['research-then-implement']!, constraints: [] },
      {
        'research-sources': { notes: 'n', sources: [...'abcde'].map(name => `https://${name}.example`) },
        'design-options': { options: ['a', 'b'], recommended: 'a' },
        implement: { tests_added: 2 },
        canary: { error_rate: 0.1, error_rate_before: 0.1 },
      },
    )
    expect(feature.statuses).toMatchObject({ plan: 'completed', canary: 'completed' })
  })
})

test('the template in the documents makes a plan', () => {
  const page = readFileSync(new URL('../docs/formats/templates.md', import.meta.url), 'utf8')
  const [block] = /^planfold-template: 2[\s\S]*?(?=^```)/m.exec(page) ?? ['']
  const read = readTemplate(block)
  if (!read.ok) throw new Error(JSON.stringify(read.diagnostics))
  for (const loudly of [true, false]) {
    const made = instantiate(read.template, { people: ['Ana', 'Bo'], loudly }, { check: checkGraph })
    expect(made.ok && made.definition.tasks.map(({ id }) => id)).toEqual([
      'greet-1',
      'greet-2',
      'write',
      ...(loudly ? ['check'] : []),
    ])
  }
})
