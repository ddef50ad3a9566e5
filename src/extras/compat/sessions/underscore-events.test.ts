// A page that knows only the names of seed 001 and folds what it hears shows what GET /plan/:plan/status says, whatever became of
// the plan; whether it listened all the time or came back later.

import { afterEach, expect, test } from 'vitest'
import type { Actor, PlanId, TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'

import type { Order } from '../../../engine/engine.ts'
import { type HeardEvent, type Listener, listen } from '../../../server/listening.fixture.ts'
import { type Served, served } from '../../../server/server.fixture.ts'
import { edit, external, gate, name, plan, task } from '../../../testing/index.ts'

const ANA = 'ana' as Actor
const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function hear(url: string): Listener {
  const listener = listen(url)
  cleanups.push(() => listener.close())
  return listener
}

/** Statuses by step; what was never told of is pending. */
function folded(heard: readonly HeardEvent[], id: PlanId, steps: readonly string[]) {
  const seen = new Map<string, string>()
  let status = 'pending'
  for (const { name: of, data } of heard) {
    if (data.plan_id !== id || of === 'step_progress') continue
    if (of !== 'plan_step_update') status = data.data.status ?? status
    else if (data.data.status === 'removed') seen.delete(data.data.step_id)
    else seen.set(data.data.step_id, data.data.status)
  }
  const strange = [...seen.keys()].filter(step => !steps.includes(step))
  return { status, strange, steps: steps.map(step => [step, seen.get(step) ?? 'pending']) }
}

const run = (id: string, script: string, more: object = {}) =>
  task(id, { effect: 'pure', ...more, action: { type: 'run', command: { argv: ['sh', '-c', script] } } })
const decide = (of: string, verdict: 'approved' | 'rejected' | 'skipped'): Order => ({
  type: 'decide',
  task: of as TaskName,
  verdict,
  rationale: 'r',
})

async function stage() {
  const service: Served = await served()
  cleanups.push(() => service.close())
  const { engine, worker, feed } = service.composed
  const must = async (of: PlanId | null, order: Order): Promise<PlanId> => {
    const submitted = await engine.as(ANA).submit(of, order)
    if (!submitted.ok) throw new Error(`${order.type}: ${submitted.refusal.message}`)
    return submitted.plan
  }
  const drive = (of: PlanId) => worker.drive(of, { stop: new AbortController().signal })
  const started = async (definition: PlanDefinition): Promise<PlanId> => {
    const id = await must(null, { type: 'create', definition })
    await must(id, { type: 'start' })
    await drive(id)
    return id
  }
  const onwards = async (id: PlanId, ...orders: readonly Order[]) => {
    for (const order of orders) {
      await must(id, order)
      await drive(id)
    }
    return id
  }
  return { service, feed, must, drive, started, onwards }
}

test('folding the stream gives what the route says', async () => {
  const { service, feed, must, started, onwards } = await stage()
  const url = `${service.url}/events?after=0&progress=false&names=underscore`
  const live = hear(url)
  await live.open
  const gated = (of: string) => plan(of, gate('may-i'), run('go', 'true', { needs: ['may-i'] }), external('by-hand'))
  const made: Record<string, PlanId> = {
    approved: await onwards(await started(gated('approved')), decide('may-i', 'approved')),
    rejected: await onwards(await started(gated('rejected')), decide('may-i', 'rejected')),
    skipped: await onwards(await started(gated('skipped')), {
      type: 'skip',
      task: name('by-hand'),
      reason: 'no need',
    }),
    cancelled: await onwards(await started(gated('cancelled')), { type: 'cancel', reason: 'enough' }),
    retried: await started(
      plan('retried', run('flaky', 'exit 1', { retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } }), external('e')),
    ),
    failed: await started(plan('failed', run('no', 'false'), run('after', 'true', { needs: ['no'] }))),
    asked: await onwards(
      await started(plan('asked', run('no', 'false', { recover: [{ do: { type: 'ask' } }] }), external('after'))),
      decide('no', 'skipped'),
    ),
  }
  const back = await started(plan('back', edit('one', 'one.txt'), edit('two', 'two.txt', { needs: ['one'] })))
  made.back = await onwards(back, { type: 'rollback' })
  const undone = await started(
    plan('undone', edit('three', 'three.txt'), edit('four', 'four.txt', { needs: ['three'] })),
  )
  made.undone = await onwards(undone, { type: 'rollback' }, { type: 'undo' })
  const revised = await must(null, { type: 'create', definition: plan('revised', external('a'), external('b')) })
  const definition = plan('revised', external('b'), external('c'))
  made.revised = await must(revised, { type: 'revise', definition, rationale: 'less' })
  await must(revised, { type: 'start' })
  const claimed = await must(null, { type: 'create', definition: plan('claimed', external('a'), external('b')) })
  await must(claimed, { type: 'start' })
  await must(claimed, { type: 'claim', task: name('a') })
  made.claimed = await must(claimed, { type: 'finish', as: 'failed', reason: 'said so' })

  const end = String(await feed.position())
  const later = hear(url)
  for (const listener of [live, later]) await listener.until('the end', heard => heard.at(-1)?.id === end)
  expect(later.heard).toEqual(live.heard)
  const words = new Set<string>()
  for (const [what, id] of Object.entries(made)) {
    const { body } = await service.ask('GET', `/plan/${id}/status`)
    const { body: full } = await service.ask('GET', `/plan/${id}`)
    const steps = full.steps.map((one: { id: string; status: string }) => [one.id, one.status])
    const ids = steps.map(([step]: [string]) => step)
    expect({ what, ...folded(live.heard, id, ids) }).toEqual({ what, status: body.status, strange: [], steps })
    for (const [, word] of steps) words.add(word)
  }
  for (const word of ['pending', 'running', 'completed', 'failed', 'skipped', 'cancelled'])
    expect([...words]).toContain(word)
  const rollback = live.heard.find(({ name: of, data }) => of === 'plan_rollback' && data.plan_id === back)
  expect(rollback?.data.data).toMatchObject({ rollback: 'finished', status: expect.not.stringMatching('completed') })
})
