// Budgets (promise P48). First the rules alone: seeds in which up to twenty tasks reserve, settle, forget to settle, crash and
// ask for more, in any order. Then the whole engine: the same with the real loop, a faulty store and processes that die. After every
// event, by books that are kept beside the journal: spent + reserved <= cap, for the plan, the group and each task.
//
//   npm run sim -- --spenders --seeds 1000      the whole engine with more seeds
//   PLANFOLD_SPENDER_SEEDS=1000                 the same in this test
//   PLANFOLD_SPENDER_RULES=1000                 more seeds of the rules; `npm run soak -- --only spenders` has both

import { describe, expect, test } from 'vitest'
import type { Command } from '../src/domain/command.ts'
import type { TaskName } from '../src/domain/id.ts'
import { nextActions } from '../src/domain/next-actions.ts'
import type { PlanDefinition, TaskDefinition } from '../src/domain/plan.ts'
import { PLAN_ENDED } from '../src/domain/status.ts'
import { Journal, plan, START, task } from '../src/testing/index.ts'
import { Random } from './random.ts'
import { failureText, run } from './run.ts'
import { Books } from './spending.ts'

const RULE_SEEDS = Number(process.env.PLANFOLD_SPENDER_RULES ?? 100)
const ENGINE_SEEDS = Number(process.env.PLANFOLD_SPENDER_SEEDS ?? 2)
const TIMEOUT_MS = 1_200_000

interface Call {
  readonly id: string
  readonly cost: number
}

/** One run of the rules: what went wrong, or null; and how often somebody was asked for more. */
function spend(seed: string): { readonly fault: string | null; readonly asked: number; readonly crashes: number } {
  const luck = new Random(seed)
  const count = luck.between(1, 20)
  const definition = drawPlan(luck, count)
  const journal = new Journal()
  let fault: string | null = null
  const books = new Books(what => {
    fault ??= `${seed}, entry ${journal.entries.length}: ${what}`
  })
  let told = 0
  let crashes = 0
  const say = (command: Command) => {
    journal.clock.advance(luck.between(1, 500))
    const decided = journal.submit(command)
    for (; told < journal.entries.length; told++)
      for (const event of journal.entries[told]!.events) books.event(event, journal.state)
    return decided
  }
  journal.create(definition)
  told = journal.entries.length
  say({ ...START, budget: 'kept' })
  const open = new Map<string, Call[]>()
  const answered = new Map<string, number>()
  const completed = new Set<string>()
  for (let step = 0; step < 4_000 && fault === null && !PLAN_ENDED.has(journal.state.status); step++) {
    const { state } = journal
    const running = [...state.running]
    const question = state.questions.find(({ budget }) => budget !== undefined)
    if (nextActions(state, journal.clock.now()).turn && luck.chance(0.7)) {
      say({ type: 'turn' })
      continue
    }
    if (question !== undefined && luck.chance(0.3)) {
      say({ type: 'answer', id: question.id, answers: { more: luck.chance(0.8) ? 'yes' : 'no' }, by: 'ana' })
      continue
    }
    if (question === undefined && state.status === 'paused') {
      say({ type: 'resume' })
      continue
    }
    // Lost ten times in one visit, a task would wait for a person.
    if (crashes < 8 && luck.chance(0.02)) {
      crashes++
      open.clear()
      say({ type: 'recover', reason: 'the process running it died' })
      continue
    }
    if (running.length === 0) {
      say({ type: 'turn' })
      continue
    }
    const one = luck.pick(running)
    const { id } = one.definition
    const { visit, attempt } = one
    const key = `${id}/${visit}/${attempt}`
    const calls = open.get(key) ?? []
    open.set(key, calls)
    switch (luck.between(1, 4)) {
      case 1:
      case 2: {
        const call = { id: `${key}#${step}`, cost: luck.between(1, 30) / 100 }
        const spends = { cost: call.cost, tokens: luck.between(1, 500), calls: 1 }
        const said = say({ type: 'reserve', id: call.id, task: id, visit, attempt, spend: spends })
        // Somebody said no to this attempt: it ends, and is made again.
        if (!said.ok)
          say({
            type: 'turn',
            settled: [{ task: id, visit, attempt, result: { status: 'interrupted', reason: 'no' } }],
          })
        if (state.budget?.holds.has(call.id) === true) calls.push(call)
        break
      }
      case 3: {
        const call = calls.pop()
        if (call === undefined) break
        answered.set(id, (answered.get(id) ?? 0) + 1)
        const actual = { cost: Math.floor(call.cost * luck.fraction() * 1e6) / 1e6, tokens: 1, calls: 1 }
        say({ type: 'settle', id: call.id, actual })
        if (luck.chance(0.1)) say({ type: 'settle', id: call.id, actual })
        break
      }
      default: {
        const isGroup = one.definition.action.type === 'group'
        if (!isGroup && (answered.get(id) ?? 0) < 2) break
        if (completed.has(id)) fault ??= `${seed}: '${id}' is done a second time`
        if (!isGroup) completed.add(id)
        say({ type: 'turn', settled: [{ task: id, visit, attempt, result: { status: 'succeeded', durationMs: 100 } }] })
      }
    }
  }
  if (fault === null) books.compare(journal.state)
  if (fault === null && journal.state.status !== 'completed')
    fault = `${seed}: it did not come to its end: ${journal.state.status}, ${journal.state.reason}`
  if (fault === null && completed.size !== count) fault = `${seed}: ${completed.size} of ${count} tasks were done`
  return { fault, asked: books.questions, crashes }
}

function drawPlan(luck: Random, count: number): PlanDefinition {
  const usd = (amount: number) => ({ amount, currency: 'USD' })
  const spender = (at: number): TaskDefinition =>
    task(`s${at}`, {
      effect: 'model',
      ...(luck.chance(0.2) ? { budget: { calls: luck.between(1, 6) } } : {}),
    })
  const all = Array.from({ length: count }, (_, at) => spender(at + 1))
  const inside = all.slice(0, luck.between(0, count))
  const group: TaskDefinition[] =
    inside.length === 0
      ? []
      : [
          {
            id: 'pay' as TaskName,
            action: { type: 'subplan', tasks: inside },
            budget: { cost: usd(luck.between(50, 300) / 100) },
          },
        ]
  return plan('spenders', ...group, ...all.slice(inside.length), {
    concurrency: luck.pick([1, 5, 20]),
    policy: {
      budget: {
        cost: usd(luck.between(50, 400) / 100),
        ...(luck.chance(0.5) ? { tokens: luck.between(1_000, 10_000) } : {}),
        ...(luck.chance(0.5) ? { attempts: luck.between(1, 30) } : {}),
        ...(luck.chance(0.3) ? { timeMs: luck.between(1_000, 60_000) } : {}),
        ...(luck.chance(0.3) ? { outputBytes: luck.between(1_000_000, 300_000_000) } : {}),
      },
    },
  })
}

describe('budgets', () => {
  test(
    `${RULE_SEEDS} seeds of the rules: no cap is passed at any event, and every plan goes on after more and ends`,
    () => {
      let [asked, crashes] = [0, 0]
      for (let at = 1; at <= RULE_SEEDS; at++) {
        const seen = spend(`rules/${at}`)
        if (seen.fault !== null) expect.fail(seen.fault)
        asked += seen.asked
        crashes += seen.crashes
      }
      expect(asked).toBeGreaterThan(RULE_SEEDS)
      expect(crashes).toBeGreaterThan(RULE_SEEDS)
    },
    TIMEOUT_MS,
  )

  test(
    `${ENGINE_SEEDS} seeds of the whole engine with crashes and a faulty store`,
    async () => {
      let [asked, raised] = [0, 0]
      const seeds = Array.from({ length: ENGINE_SEEDS }, (_, at) => `0x${(at + 1).toString(16)}`)
      // The last once found a rollback that was worked out for an earlier version of the plan.
      for (const seed of [...seeds, '0x117']) {
        const verdict = await run({ seed, spenders: 'honest' })
        if (verdict.violation !== null) expect.fail(`${failureText(verdict)}\n  with --spenders`)
        asked += verdict.asked
        raised += verdict.raised
      }
      expect(asked).toBeGreaterThan(ENGINE_SEEDS / 2)
      expect(raised).toBeGreaterThan(ENGINE_SEEDS / 4)
    },
    TIMEOUT_MS,
  )

  test(
    'a task that spends what was refused is found',
    async () => {
      let found = false
      for (let at = 1; at <= 20 && !found; at++) {
        const verdict = await run({ seed: `0x${at.toString(16)}`, spenders: 'greedy' })
        found = verdict.violation?.invariant === 'P48'
      }
      expect(found).toBe(true)
    },
    TIMEOUT_MS,
  )
})
