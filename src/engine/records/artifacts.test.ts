// Artifacts through the door of the engine: typed, uploaded in parts, addressed by version, kept for their time.

import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Actor, PlanId, Sha256 } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { external, gate } from '../../testing/index.ts'
import { RIGHTS } from '../roles.ts'
import { exited, name, setup } from '../rooms.fixture.ts'

const OUT = name('out')
const hashOf = (text: string | Uint8Array) => hash('sha256', text) as Sha256

async function claimed(task: Partial<TaskDefinition> = {}) {
  const room = setup()
  const plan = await room.plan(external('out', task))
  const token = await claimOf(room, plan)
  return { ...room, plan, token, send: sender(room, plan, token) }
}

async function claimOf({ engine }: Pick<ReturnType<typeof setup>, 'engine'>, plan: PlanId): Promise<string> {
  const made = await engine.submit(plan, { type: 'claim', task: OUT })
  if (!made.ok || made.claim === undefined) throw new Error('not claimed')
  return made.claim.token
}

interface Sent {
  readonly name?: string
  readonly from: number
  readonly part: string
  readonly whole: string
  readonly bytes?: number
}

/** Sends one part; tells how it went. */
const sender =
  ({ engine }: Pick<ReturnType<typeof setup>, 'engine'>, plan: PlanId, token: string) =>
  async ({ name: called = 'notes', from, part, whole, bytes = whole.length }: Sent): Promise<string> => {
    const data = Buffer.from(part).toString('base64')
    const order = { type: 'upload', task: OUT, token, name: called, sha256: hashOf(whole), bytes, from, data } as const
    const done = await engine.submit(plan, order)
    return done.ok ? 'ok' : `${done.refusal.code}: ${done.refusal.message}`
  }

const report = (outputs?: object) => ({
  type: 'report' as const,
  task: OUT,
  result: { status: 'succeeded' as const, ...(outputs === undefined ? {} : { outputs: outputs as never }) },
})

describe('types', () => {
  test('a report of another type is refused, says where, and can be corrected', async () => {
    const links = { from: 'report', type: 'list[url]', cites: true } as const
    const { engine, plan, token } = await claimed({ outputs: { links } })
    const wrong = await engine.submit(plan, { ...report({ links: ['not a url', 7] }), token })
    expect(wrong).toMatchObject({
      ok: false,
      refusal: { message: "output 'links' of 'out' is not accepted: item 1 is not an absolute URL: \"not a url\"" },
    })
    expect(await engine.submit(plan, { ...report({ links: ['https://a.example/'] }), token })).toMatchObject({
      ok: true,
    })
    const found = await engine.ask({ type: 'artifactOf', plan, task: 'out', name: 'links' })
    expect(found).toMatchObject({ kind: 'links', cites: ['https://a.example/'], version: 1, content: 'kept' })
  })

  test('what a command prints is held against its type', async () => {
    const stdout = (as: 'json' | 'text', type: string) => ({ outputs: { n: { from: 'stdout', as, type } } }) as const
    const room = setup(async () => exited(0, '["https://a.example", 7]\n'))
    const plan = await room.define({
      tasks: [
        { id: name('a'), optional: true, ...stdout('json', 'list[url]') },
        { id: name('b'), optional: true, ...stdout('text', 'number') },
        { id: name('c'), ...stdout('text', 'text') },
        { id: name('d'), ...stdout('text', 'integer') },
      ] as never,
    })
    await room.drive(plan)
    expect(await room.statuses(plan)).toMatchObject({ a: 'failed', b: 'failed', c: 'completed', d: 'completed' })
    const [a] = (await room.engine.ask({ type: 'board', plan })) ?? []
    expect(a?.reason).toBe("output 'n' cannot be taken: item 2 is not an absolute URL: 7")
  })
})

describe('uploads', () => {
  test('parts make an artifact before the task ends, and its report has it as an output', async () => {
    const { engine, plan, token, send } = await claimed({ outputs: { notes: { from: 'report', kind: 'report' } } })
    expect(await send({ from: 0, part: 'ab', whole: 'abcd' })).toBe('ok')
    expect(await engine.ask({ type: 'artifacts', plan })).toMatchObject({ total: 0 })
    // The reply was lost, and the part is sent again.
    expect(await send({ from: 2, part: 'cd', whole: 'abcd' })).toBe('ok')
    expect(await send({ from: 2, part: 'cd', whole: 'abcd' })).toBe('ok')
    const found = await engine.ask({ type: 'artifactOf', plan, task: 'out', name: 'notes' })
    expect(found).toMatchObject({ address: 'plan/out/notes@1', how: 'upload', kind: 'report', bytes: 4, by: 'me' })
    expect(await engine.submit(plan, { ...report(), token })).toMatchObject({ ok: true })
    const [card] = (await engine.ask({ type: 'board', plan })) ?? []
    expect(card?.outputs).toEqual({ notes: { artifact: hashOf('abcd'), bytes: 4 } })
    expect(await engine.ask({ type: 'artifacts', plan })).toMatchObject({ total: 1 })
    expect(await engine.ask({ type: 'artifact', plan, sha256: hashOf('abcd') })).toEqual(
      new Uint8Array(Buffer.from('abcd')),
    )
    expect(await engine.ask({ type: 'replay', plan })).toMatchObject({ fault: null })
  })

  test('parts of two contents are never mixed', async () => {
    const { send, engine, plan } = await claimed()
    expect(await send({ from: 0, part: 'ab', whole: 'abcd' })).toBe('ok')
    expect(await send({ from: 2, part: 'XY', whole: 'abXY' })).toMatch(/^conflict: .* with other content/)
    expect(await send({ from: 2, part: 'XY', whole: 'abcd' })).toMatch(/^conflict: .* the file changed while/)
    expect(await send({ from: 3, part: 'd', whole: 'abcd' })).toBe("conflict: of 'notes' there are 2 bytes, not 3")
    // Another upload of the same name begins anew, and the first one is told.
    expect(await send({ from: 0, part: 'wx', whole: 'wxyz' })).toBe('ok')
    expect(await send({ from: 2, part: 'cd', whole: 'abcd' })).toMatch(/^conflict/)
    expect(await send({ from: 2, part: 'yz', whole: 'wxyz' })).toBe('ok')
    expect(await engine.ask({ type: 'uploads', plan, task: OUT })).toMatchObject([
      { sha256: hashOf('wxyz'), received: 4 },
    ])
  })

  test('two at once under one name leave one whole content', async () => {
    const { send, engine, plan } = await claimed()
    await Promise.all(['abcd', 'wxyz'].map(whole => send({ from: 0, part: whole, whole })))
    const { items } = (await engine.ask({ type: 'artifacts', plan }))!
    expect(items.map(({ version }) => version)).toEqual([1, 2])
    for (const { sha256 } of items) expect([hashOf('abcd'), hashOf('wxyz')]).toContain(sha256)
  })

  test('names and sizes are bounded, and nothing is stored for them', async () => {
    const { send } = await claimed({ outputs: { links: { from: 'report', type: 'list[url]' } } })
    for (const called of ['../x', '/etc/passwd', 'ü', 'a/b', '.hidden', '__proto__', 'a\n'])
      expect([called, await send({ name: called, from: 0, part: 'x', whole: 'x' })]).not.toEqual([called, 'ok'])
    expect(await send({ from: 0, part: 'x', whole: 'x', bytes: 200 * 1024 * 1024 })).toBe(
      "limit: 'notes' has 200 MB, and an artifact at most 64 MB",
    )
    expect(await send({ from: 0, part: 'xx', whole: 'x' })).toBe('invalid: the part ends at 2 of 1 bytes')
    expect(await send({ name: 'links', from: 0, part: '[]', whole: '[]' })).toMatch(/is declared as list\[url\]/)
    expect(await send({ from: 0, part: '', whole: '' })).toBe('ok')
  })

  test('an upload goes on in another process, from the part that was recorded last', async () => {
    const { send, plan, token, disk } = await claimed()
    expect(await send({ from: 0, part: 'ab', whole: 'abcd' })).toBe('ok')
    // The process is gone between two parts; only its disk is left.
    const then = setup(undefined, {}, disk)
    expect(await then.engine.ask({ type: 'uploads', plan, task: OUT })).toMatchObject([{ name: 'notes', received: 2 }])
    expect(await sender(then, plan, token)({ from: 2, part: 'cd', whole: 'abcd' })).toBe('ok')
    const sha256 = hashOf('abcd')
    expect(await then.engine.ask({ type: 'artifact', plan, sha256 })).toEqual(new Uint8Array(Buffer.from('abcd')))
    expect((await then.rooms.store.check()).faults).toEqual([])
  })

  test('a dead claim uploads nothing more; what was whole stays', async () => {
    const { engine, plan, send, ...room } = await claimed()
    expect(await send({ name: 'first', from: 0, part: 'abcd', whole: 'abcd' })).toBe('ok')
    expect(await send({ from: 0, part: 'ab', whole: 'abcd' })).toBe('ok')
    expect(await engine.submit(plan, { type: 'release', task: OUT })).toMatchObject({ ok: true })
    expect(await send({ from: 2, part: 'cd', whole: 'abcd' })).toMatch(/^conflict: the claim on 'out' is not held/)
    const token = await claimOf({ engine }, plan)
    expect(await send({ from: 2, part: 'cd', whole: 'abcd' })).toMatch(/^conflict: the claim on 'out' is not held/)
    expect(await sender({ engine }, plan, token)({ from: 2, part: 'cd', whole: 'abcd' })).toMatch(/there are 0 bytes/)
    expect(await engine.ask({ type: 'artifacts', plan })).toMatchObject({ items: [{ name: 'first', attempt: 1 }] })
    expect((await room.rooms.store.check()).faults).toEqual([])
  })
})

describe('versions and provenance', () => {
  test('other content is another version, the same content is not', async () => {
    const texts = ['one', 'one', 'two']
    const room = setup(async () => exited(0, texts.shift()))
    const outputs = { said: { from: 'stdout', as: 'text', retention: 'forever' } } as const
    const plan = await room.plan({ id: OUT, outputs, effect: 'pure' })
    for (const _ of [1, 2, 3]) {
      await room.drive(plan)
      await room.engine.submit(plan, { type: 'retry', task: OUT })
    }
    const page = await room.engine.ask({ type: 'artifacts', plan })
    expect(page?.items.map(({ address, bytes }) => [address, bytes])).toEqual([
      ['plan/out/said@1', 3],
      ['plan/out/said@2', 3],
    ])
    const of = (version?: string) =>
      room.engine.ask({
        type: 'artifactOf',
        plan,
        task: 'out',
        name: 'said',
        ...(version === undefined ? {} : { version }),
      })
    expect(await of()).toMatchObject({ version: 2, sha256: hashOf('two'), retention: 'forever' })
    expect(await of('1')).toMatchObject({ sha256: hashOf('one') })
    expect(await of(hashOf('one').slice(0, 12))).toMatchObject({ version: 1 })
    expect(await of('3')).toBeNull()
  })

  test('an artifact knows what it was made of, and what was decided with it', async () => {
    const room = setup(async () => exited(0, '7'))
    const n = { n: { from: 'stdout', as: 'json', type: 'number' } } as const
    const command = { argv: ['echo', '${{ tasks.make.outputs.n }}'] }
    const plan = await room.plan({ id: name('make'), outputs: n }, gate('look', { needs: ['make'] }), {
      id: name('use'),
      needs: [name('look')],
      action: { type: 'run', command },
      outputs: n,
    })
    await room.drive(plan)
    const decided = {
      type: 'decide',
      task: name('look'),
      verdict: 'approved',
      rationale: 'it is 7',
      unseen: true,
    } as const
    expect(await room.engine.submit(plan, decided)).toMatchObject({ ok: true })
    await room.drive(plan)
    const made = await room.engine.ask({ type: 'artifactOf', plan, task: 'make', name: 'n' })
    expect(made?.provenance.ledTo).toMatchObject([{ task: 'look', what: 'approved', by: 'me', rationale: 'it is 7' }])
    const used = await room.engine.ask({ type: 'artifactOf', plan, task: 'use', name: 'n' })
    expect(used?.provenance).toMatchObject({
      revision: 1,
      did: { action: 'run', argv: command.argv },
      inputs: [{ address: 'plan/make/n@1', sha256: hashOf('7') }],
      approvals: [{ task: 'look', what: 'approved', by: 'me' }],
      inputHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('who may only read gets no content of a confidential task', async () => {
    const room = setup(async () => exited(0, 'the key'))
    const plan = await room.plan({ id: OUT, labels: ['secret'], outputs: { key: { from: 'stdout', as: 'text' } } })
    await room.drive(plan)
    const sha256 = hashOf('the key')
    const vera = room.engine.as({ actor: 'vera' as Actor, rights: RIGHTS.viewer, scope: null } as never)
    expect(await vera.ask({ type: 'artifact', plan, sha256 })).toBeNull()
    await expect(vera.ask({ type: 'confidentialArtifact', plan, sha256 })).rejects.toThrow()
    expect(JSON.stringify(await vera.ask({ type: 'artifactOf', plan, task: 'out', name: 'key' }))).not.toContain(
      'the key',
    )
    expect(await room.engine.ask({ type: 'confidentialArtifact', plan, sha256 })).toEqual(
      new Uint8Array(Buffer.from('the key')),
    )
  })
})

describe('retention', () => {
  const uploadAs = async (retention: string) => {
    const made = await claimed({ outputs: { notes: { from: 'report', retention } } })
    expect(await made.send({ from: 0, part: 'ab', whole: 'abcd' })).toBe('ok')
    expect(await made.send({ from: 2, part: 'cd', whole: 'abcd' })).toBe('ok')
    const { engine, plan, token } = made
    expect(await engine.submit(plan, { ...report(), token })).toMatchObject({ ok: true })
    const sha256 = hashOf('abcd')
    return { ...made, sha256, content: () => engine.ask({ type: 'artifact', plan, sha256 }) }
  }

  test('after its time the content is removed, and asking for it says when it expired', async () => {
    const { engine, plan, rooms, disk, sha256, content } = await uploadAs('30d')
    expect(await content()).not.toBeNull()
    const of = { type: 'artifactOf', plan, task: 'out', name: 'notes' } as const
    expect(await engine.ask(of)).toMatchObject({ content: 'kept', expired: false })
    const before = Date.now() + 31 * 86_400_000
    const then = setup(undefined, {}, disk, () => before)
    expect(await then.rooms.store.prune({ before: 0, blobsBefore: before, dryRun: false })).toMatchObject({ plans: 0 })
    expect(await rooms.store.blobs.get(sha256)).toBeNull()
    expect(await then.engine.ask(of)).toMatchObject({ content: 'expired', expired: true, expires: expect.any(Number) })
    expect(await then.engine.ask({ type: 'artifact', plan, sha256 })).toBeNull()
    expect((await then.rooms.store.check()).faults).toEqual([])
  })

  test('content that is kept with its plan outlives a prune, and a plan with content that is kept forever is not pruned', async () => {
    for (const retention of ['plan', 'forever']) {
      const { engine, plan, rooms, disk, sha256 } = await uploadAs(retention)
      const before = Date.now() + 31 * 86_400_000
      const then = setup(undefined, {}, disk, () => before)
      await then.rooms.store.prune({ before: 0, blobsBefore: before, dryRun: false })
      expect(await rooms.store.blobs.get(sha256)).not.toBeNull()
      expect(await engine.submit(plan, { type: 'archive' })).toMatchObject({ ok: true })
      const pruned = await then.rooms.store.prune({ before, blobsBefore: before, dryRun: false })
      expect([retention, pruned.plans, pruned.held]).toEqual(retention === 'plan' ? ['plan', 1, 0] : ['forever', 0, 1])
    }
  })
})
