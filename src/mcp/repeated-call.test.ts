// A call that comes twice under its key: it is answered as it was, whatever has become of the plan since, and nothing is done twice.

import { describe, expect, test } from 'vitest'
import { agents } from './mcp.fixture.ts'

const CREATE = {
  action: 'create',
  name: 'shop',
  goal: 'Prices',
  tasks: [
    { id: 'prices', accept: [{ expect: 'outputs.tests >= 2' }], outputs: { tests: { report: 'number' } } },
    { id: 'docs' },
    { id: 'free' },
    { id: 'more' },
  ],
}

/** A plan of a person, and an agent at it. */
async function shop() {
  const { agent, engine } = agents()
  const owner = await agent({ as: 'owner' })
  await owner.write(CREATE)
  await engine.submit('shop', { type: 'start' })
  const version = async () => (await engine.ask({ type: 'summary', plan: 'shop' }))?.version
  const me = await agent({ as: 'agent-7' })
  const head = (text: string) => text.split('\n\n')[0]
  /** Twice, with whatever happens in between. */
  const twice = async (input: Readonly<Record<string, unknown>>, between?: () => Promise<unknown>) => {
    const call = { ...input, key: 'k' }
    const first = await me.write(call)
    await between?.()
    const before = await version()
    const second = await me.write(call)
    expect({ said: head(second.text), error: second.error }).toEqual({ said: head(first.text), error: first.error })
    expect(await version()).toBe(before)
    return first
  }
  return { agent, engine, me, owner, twice }
}

const remove = (task: string) => ({ type: 'remove' as const, tasks: [task as never] })

describe('the second answer is the first one, and nothing is done twice:', () => {
  test('a report of a task that nobody had claimed', async () => {
    const { twice } = await shop()
    expect((await twice({ action: 'report', task: 'free', status: 'done' })).text).toContain('ok: free is done')
  })

  test('a report that was not accepted, and one of a failure', async () => {
    const { twice, me } = await shop()
    const refused = await twice({ action: 'report', task: 'prices', status: 'done', outputs: { tests: 1 } })
    expect(refused).toMatchObject({ error: true, text: expect.stringContaining('is not accepted as done') })
    const failed = { action: 'report', task: 'free', status: 'failed', text: 'no', key: 'f' }
    const first = await me.write(failed)
    expect(await me.write(failed)).toEqual(first)
  })

  test('an edit that added and removed tasks, after somebody else has changed the plan', async () => {
    const { me, engine } = await shop()
    const edit = { action: 'edit', tasks: [{ id: 'new' }], remove: ['more'], key: 'k' }
    const first = await me.write(edit)
    expect(first.text).toContain('ok: ')
    await engine.submit('shop', remove('docs'))
    const second = await me.write(edit)
    // What became of each task is told once.
    expect(second.error).toBe(false)
    expect(second.text.split('\n')[0]).toBe(first.text.split('\n')[0])
    expect(second.text).toContain('revision 3')
  })

  test('an edit that became a proposal, after somebody else has changed the plan', async () => {
    const { me, engine } = await shop()
    const loosen = { action: 'edit', tasks: [{ id: 'prices', accept: [] }], key: 'k' }
    const first = await me.write(loosen)
    expect(first.text).toContain('not changed yet, proposed to a person')
    await engine.submit('shop', remove('docs'))
    const second = await me.write(loosen)
    expect(second.error).toBe(false)
    expect(second.text.split('\n')[0]).toBe(first.text.split('\n')[0])
    expect(await engine.ask({ type: 'proposals', plan: 'shop' })).toHaveLength(1)
  })

  test('a claim of whatever is next, of any plan', async () => {
    const { me, engine } = await shop()
    const claim = { action: 'claim', key: 'k' }
    const first = await me.write(claim)
    const second = await me.write(claim)
    expect(second.text.replace('is still yours', 'is yours')).toBe(first.text)
    const running = (await engine.ask({ type: 'summary', plan: 'shop' }))?.running
    expect(running).toHaveLength(1)
    await me.write({ action: 'report', status: 'failed', text: 'no' })
    const third = await me.write(claim)
    expect(third).toMatchObject({ error: false, text: expect.stringContaining('that claim is over') })
    expect((await engine.ask({ type: 'summary', plan: 'shop' }))?.running).toEqual([])
  })

  test.each([
    { action: 'note', text: 'x' },
    { action: 'skip', task: 'docs', text: 'x' },
    { action: 'checkpoint', text: 'here' },
    { action: 'ask', text: 'Which colour?' },
    { action: 'status', task: 'docs', status: 'running' },
    { action: 'status', task: 'docs', status: 'skipped', text: 'x' },
    { action: 'tick', task: 'prices', criterion: '1', text: 'seen' },
    { action: 'pause', text: 'x' },
  ])('$action $status', async input => {
    const { twice } = await shop()
    expect((await twice(input)).error).toBe(false)
  })

  test('a resume, after a person has paused the plan again', async () => {
    const { twice, me, engine } = await shop()
    await me.write({ action: 'pause' })
    await twice({ action: 'resume' }, async () => {
      await engine.submit('shop', { type: 'pause', reason: 'mine' })
    })
  })

  test('a request for a rollback', async () => {
    const { twice, me, engine } = await shop()
    await me.write({ action: 'status', task: 'free', status: 'done' })
    await twice({ action: 'rollback', task: 'free', text: 'it broke' })
    expect((await engine.ask({ type: 'inbox' })).items).toHaveLength(1)
  })

  test('a report that is sent again before the first one has ended', async () => {
    const { me } = await shop()
    const report = { action: 'report', task: 'free', status: 'done', key: 'k' }
    const [first, ...others] = await Promise.all([me.write(report), me.write(report), me.write(report)])
    expect(first).toMatchObject({ error: false, text: expect.stringContaining('ok: free is done') })
    expect(others).toEqual([first, first])
  })

  test('a plan that was made and started', async () => {
    const { me } = await shop()
    const create = { ...CREATE, name: 'other', start: true, key: 'c' }
    const first = await me.write(create)
    expect(await me.write(create)).toEqual(first)
    expect(first.text).toContain('created and started')
  })
})

test('a key that was used for something else is refused, with what to change', async () => {
  const { me } = await shop()
  await me.write({ action: 'note', text: 'x', key: 'k' })
  const other = await me.write({ action: 'note', text: 'y', key: 'k' })
  expect(other).toMatchObject({ error: true, text: expect.stringContaining('this `key` was used for something else') })
})

describe('without a plan, where several are open,', () => {
  test('a task is found by its name, unless several plans have it', async () => {
    const { me, owner } = await shop()
    await owner.write({ action: 'create', name: 'other', tasks: [{ id: 'free' }, { id: 'alone' }], start: true })
    expect((await me.write({ action: 'claim', task: 'alone' })).text).toContain('ok: alone is yours')
    expect((await me.read({ what: 'task', task: 'alone' })).text).toContain('claimed by you')
    const both = await me.write({ action: 'claim', task: 'free' })
    expect(both).toMatchObject({
      error: true,
      text: expect.stringMatching(
        /several plans have a task 'free'.*\nhint: say which plan you mean: "plan":"\w+" or "plan":"\w+"/,
      ),
    })
    expect((await me.write({ action: 'claim', plan: 'other', task: 'free' })).error).toBe(false)
    expect((await me.write({ action: 'claim', task: 'other:free' })).text).toContain('still yours')
    expect((await me.write({ action: 'report', task: 'free', status: 'done' })).text).toContain('ok: free is done')
    const none = await me.write({ action: 'claim', task: 'nowhere' })
    expect(none).toMatchObject({ error: true, text: expect.stringContaining("no open plan has a task 'nowhere'") })
  })

  test('a report is about the task in hand', async () => {
    const { me, owner } = await shop()
    await owner.write({ action: 'create', name: 'other', tasks: [{ id: 'alone' }], start: true })
    await me.write({ action: 'claim', plan: 'other' })
    expect((await me.read()).text).toContain('Your task:\n## alone')
    expect((await me.write({ action: 'note', text: 'at it' })).text).toBe('ok: noted in other')
    expect((await me.write({ action: 'pause' })).text).toContain('several plans may be meant')
    expect((await me.write({ action: 'report', status: 'done' })).text).toContain('ok: alone is done')
  })
})

test('who has claimed two tasks says which one is meant', async () => {
  const { me, engine } = await shop()
  await me.write({ action: 'claim', task: 'free' })
  await me.write({ action: 'claim', task: 'docs' })
  for (const input of [
    { action: 'report', status: 'done' },
    { action: 'heartbeat' },
    { action: 'tick', criterion: '1' },
  ])
    expect(await me.write(input)).toMatchObject({
      error: true,
      text: expect.stringMatching(
        /you have claimed 2 tasks; nothing was done\nhint: say which one: "task":"\w+" or "task":"\w+"/,
      ),
    })
  expect((await engine.ask({ type: 'summary', plan: 'shop' }))?.running).toHaveLength(2)
})

test('a status that is so already is no error', async () => {
  const { me, agent } = await shop()
  const set = (status: string) => me.write({ action: 'status', task: 'free', status })
  const statuses = ['pending', 'running', 'running', 'done', 'done'] as const
  const said = []
  for (const status of statuses) said.push((await set(status)).text.split('\n')[0]!.replace(/; token.*/, ''))
  expect(said).toEqual([
    'ok: free was pending already',
    'ok: free is running',
    'ok: free was running already',
    'ok: free is done',
    'ok: free was done already',
  ])
  await me.write({ action: 'claim', task: 'docs' })
  const other = await agent({ as: 'other' })
  expect((await other.write({ action: 'status', task: 'docs', status: 'running' })).error).toBe(true)
  expect((await me.write({ action: 'report', task: 'free', status: 'done' })).error).toBe(true)
})

test('what is not accepted says what failed, and the ways on', async () => {
  const { me, engine } = await shop()
  const refused = await me.write({ action: 'status', task: 'prices', status: 'done', outputs: { tests: 1 } })
  expect(refused.text).toContain('- failed: outputs.tests >= 2')
  expect(refused.text).toContain('fix this and report it as done again')
  const back = /plan_write (\{.*"pending".*\})/.exec(refused.text)![1]!
  expect((await me.write(JSON.parse(back))).text).toContain('ok: prices is pending')
  expect((await engine.ask({ type: 'task', plan: 'shop', task: 'prices' }))?.claimedBy).toBe(null)
})

test('two who tick at once lose nothing, and the history tells what each ticked', async () => {
  const { agent, engine } = agents()
  const [a, b] = [await agent({ as: 'a' }), await agent({ as: 'b' })]
  await a.write({ action: 'create', name: 'p', tasks: [{ id: 't', accept: ['one', 'two', 'three'] }], start: true })
  await Promise.all([
    a.write({ action: 'tick', task: 't', criterion: 'one' }),
    b.write({ action: 'tick', task: 't', criterion: 'two' }),
  ])
  const card = await engine.ask({ type: 'task', plan: 'p', task: 't' })
  expect(Object.keys(card?.annotations.ticked as object).sort()).toEqual(['one', 'two'])
  await a.write({ action: 'tick', task: 't', criterion: '3' })
  const { text } = await a.read({ what: 'changes' })
  expect(text).toContain('a: t: criterion ticked by a: three')
  expect(text).not.toContain('annotated')
})
