// `revise` and `revisions` against a real store in a folder of its own.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Composed } from '../../../compose.ts'
import { lacks } from '../../../composition/missing-extra.fixture.ts'
import type { TaskName } from '../../../domain/id.ts'
import type { OpenOptions } from '../../context.ts'
import { type Context, withState } from '../../context.ts'
import { CliError } from '../../exit.ts'
import { openState } from '../../open-state.ts'
import { readPlanFile } from '../../plan-file.ts'
import { paint } from '../../terminal/paint.ts'
import { type ReviseOptions, revise } from './revise.ts'
import { diffRevisions, listRevisions, showRevision } from './revisions.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-revise-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const PLAN = `planfold: 1
name: p
title: Old
tasks:
  - { id: a, title: First }
  - { id: b, title: Second, needs: [a] }
  - { id: c, title: Third, needs: [b], write: [src/**] }
`

interface Said {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

/** Runs one command; a complaint answers with its code. */
async function say(body: (context: Context) => Promise<number>, json = false): Promise<Said> {
  const said = { stdout: '', stderr: '' }
  const context = {
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { write: (text: string) => (said.stderr += text) },
    terminal: null,
    cwd: folder,
    environment: { HOME: folder, PLANFOLD_AS: 'ana@example.com' },
    now: () => 0,
    paint: paint(false),
    settings: { json, quiet: false, color: false },
    hangup: new AbortController().signal,
    openState,
    opened: null,
  } as unknown as Context
  try {
    return { exit: await body(context), ...said }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const hint = error.diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`).join('\n')
    return { exit: error.code, stdout: said.stdout, stderr: `${error.message}\n${error.hint ?? ''}\n${hint}` }
  }
}

const write = (text: string, file = 'plan.yaml'): Promise<void> => writeFile(join(folder, file), text)
const make = async (text = PLAN): Promise<void> => {
  await write(text)
  const making = async (context: Context): Promise<number> => {
    const { definition } = await readPlanFile(context, 'plan.yaml')
    return await withState(context, { create: true }, async ({ engine }) =>
      (await engine.submit(null, { type: 'create', definition })).ok ? 0 : 1,
    )
  }
  expect((await say(making)).exit).toBe(0)
}
const revising = async (text: string | null, options: ReviseOptions = {}): Promise<Said> => {
  if (text !== null) await write(text, 'new.yaml')
  return await say(context => revise(context, 'p', text === null ? undefined : 'new.yaml', options))
}
const data = async (body: (context: Context) => Promise<number>) =>
  (JSON.parse((await say(body, true)).stdout) as { data: never }).data
const list = async (): Promise<readonly { revision: number; summary: string; rationale: string | null }[]> =>
  ((await data(context => listRevisions(context, 'p'))) as { items: never }).items
const withEngine = async <T>(body: (composed: Composed) => Promise<T>): Promise<T> => {
  const composed = await openState({ cwd: folder, environment: { HOME: folder, PLANFOLD_AS: 'ana' }, create: false })
  try {
    return await body(composed)
  } finally {
    await composed.close()
  }
}
/** Starts the plan and reports these external tasks as done. */
const run = (...done: readonly string[]) =>
  withEngine(async ({ engine }) => {
    await engine.submit('p', { type: 'start' })
    for (const task of done) {
      const order = { type: 'report', task: task as TaskName, result: { status: 'succeeded' } } as const
      expect(await engine.submit('p', order)).toMatchObject({ ok: true })
    }
  })
const statuses = () =>
  withEngine(async ({ engine }) => {
    const cards = (await engine.ask({ type: 'board', plan: 'p' })) ?? []
    return Object.fromEntries(cards.map(card => [card.name, card.status]))
  })

describe('revise', () => {
  it('makes the next revision, with rationale, author, hash, and the text as it was written', async () => {
    await make()
    const text = `# mine\r\n${PLAN.replace('Old', 'New')}`
    expect(await revising(text, { message: 'better words' })).toMatchObject({
      exit: 0,
      stdout: 'p is now revision 2: plan title\n\n~ plan\n  title: "Old" → "New"\n',
    })
    expect(await list()).toMatchObject([
      { revision: 1, verified: true, summary: 'created with 3 tasks', rationale: null },
      { revision: 2, verified: true, summary: 'plan title', rationale: 'better words', actor: 'ana@example.com' },
    ])
    expect(await say(context => showRevision(context, 'p', 2, { original: true }))).toMatchObject({
      exit: 0,
      stdout: text,
    })
    expect((await say(context => showRevision(context, 'p', 1, { yaml: true }))).stdout).toContain('title: Old')
  })

  it('shows with --dry-run what would become of each task, and writes nothing', async () => {
    await make()
    await run('a')
    const dry = await revising('planfold: 1\ntasks: [{ id: c, title: 3rd }, { id: d }]', { dryRun: true })
    expect(dry.exit).toBe(0)
    expect(dry.stdout.split('\n')).toEqual([
      'added d; removed a, b; changed scope of c; changed routing of c; changed text of c; plan title',
      '',
      '~ plan',
      '  - title: "Old"',
      '- task a (external: First)',
      '- task b (external: Second)',
      '+ task d (external)',
      '~ task c: scope, routing, text changed',
      '  - write: [src/**]',
      '  - needs: [b]',
      '  title: "Third" → "3rd"',
      '',
      '  c is changed, and stays pending',
      '  d is new and waits for its turn',
      '  a is removed after it ran; it was completed, and its history stays',
      '  b is removed; it never ran',
      'nothing was written',
      '',
    ])
    expect(await list()).toHaveLength(1)
  })

  it('keeps with --merge what the text does not mention, and lets it need what only the plan has', async () => {
    await make()
    await run('a')
    const merged = await revising(
      'planfold: 1\ntasks:\n  - { id: d, needs: [c], when: "tasks.a.visit > 0" }\n  - { id: B, owner: ana }\n',
      { merge: true },
    )
    expect(merged).toMatchObject({ exit: 0, stdout: expect.stringContaining("note: 'B' is taken to be 'b'") })
    expect(await statuses()).toEqual({ a: 'completed', d: 'pending', b: 'ready', c: 'pending' })
    const wrong = await revising('planfold: 1\ntasks:\n  - { id: e, needs: [zz] }\n', { merge: true })
    expect(wrong).toMatchObject({ exit: 'invalid-plan', stderr: expect.stringMatching(/^3:\d+ .*'zz'/m) })
  })

  it('abandons what ran and is removed', async () => {
    await make()
    await run('a')
    expect((await revising('planfold: 1\ntasks: [{ id: c }]')).exit).toBe(0)
    expect(await statuses()).toEqual({ c: 'ready' })
    const entries = await withEngine(({ engine }) => engine.ask({ type: 'entries', plan: 'p' }))
    expect(entries?.at(-1)?.events[0]).toMatchObject({ type: 'task.abandoned', task: 'a' })
  })

  it('says so when nothing changed, in whatever form it is written', async () => {
    await make()
    const json = JSON.stringify({
      tasks: [
        { title: 'First', id: 'a' },
        { needs: ['a'], id: 'b', title: 'Second' },
        { id: 'c', write: ['src/**'], title: 'Third', needs: ['b'] },
      ],
      title: 'Old',
      planfold: 1,
    })
    expect(await revising(json)).toMatchObject({ exit: 0, stdout: 'no changes\n' })
    expect(await list()).toHaveLength(1)
  })

  it('is refused when the plan has moved on: of two writers one is told', async () => {
    await make()
    const next = (title: string) => revising(PLAN.replace('Old', title), { expectRevision: 1 })
    expect((await next('Mine')).exit).toBe(0)
    expect(await next('Yours')).toMatchObject({
      exit: 'conflict',
      stderr: expect.stringContaining('planfold revise diff p 1'),
    })
    expect((await list()).map(({ revision }) => revision)).toEqual([1, 2])
  })

  it('regression 1: --remove of an existing and a missing task does nothing and names the missing one', async () => {
    await make()
    expect(await revising(null, { remove: 'c,cc' })).toMatchObject({
      exit: 'unknown-reference',
      stderr: expect.stringMatching(/no task 'cc'; nothing was changed[\s\S]*did you mean 'c'\?/),
    })
    expect(await revising(null, { remove: 'a' })).toMatchObject({
      exit: 'invalid-plan',
      stderr: expect.stringContaining("'b' needs 'a'"),
    })
    expect(await list()).toHaveLength(1)
    expect(await revising(null, { remove: 'c, b' })).toMatchObject({ exit: 0 })
    expect(await statuses()).toEqual({ a: 'pending' })
  })

  it('regression 2: a plan cannot be emptied', async () => {
    await make()
    expect(await revising(null, { remove: 'a,b,c' })).toMatchObject({
      exit: 'invalid-plan',
      stderr: expect.stringContaining('has no tasks'),
    })
    expect((await revising('planfold: 1\ntasks: []')).exit).toBe('invalid-plan')
    expect(await list()).toHaveLength(1)
  })

  it('regression 5: --order uses the list and reports unknown ids', async () => {
    await make()
    expect(await revising(null, { order: 'c,zz' })).toMatchObject({ exit: 'unknown-reference' })
    expect(await revising(null, { order: 'c,a' })).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('p is now revision 2: reordered'),
    })
    expect(Object.keys(await statuses())).toEqual(['c', 'a', 'b'])
  })

  it('regression 8: a duplicate id is a precise error, and nothing is written', async () => {
    await make()
    for (const merge of [true, false]) {
      const said = await revising('planfold: 1\ntasks:\n  - id: a\n  - id: a\n', { merge })
      expect(said).toMatchObject({ exit: 'invalid-plan', stderr: expect.stringMatching(/^4:9 .*'a'/m) })
    }
    expect(await list()).toHaveLength(1)
  })

  it('regression 30: goals and rationales may hold any characters, and steer no terminal', async () => {
    await make()
    const goal = 'a "quote" \'x\' $(rm) `b` ${HOME} ; -- <b> \u001b[2J 日本 🙂 \\ \n%s'
    expect((await revising(JSON.stringify({ planfold: 1, goal, tasks: [{ id: 'a' }] }), { message: goal })).exit).toBe(
      0,
    )
    const shown = (await data(context => showRevision(context, 'p', undefined, {}))) as { definition: { goal: string } }
    expect(shown).toMatchObject({ definition: { goal }, rationale: goal })
    for (const body of [
      (context: Context) => listRevisions(context, 'p'),
      (context: Context) => diffRevisions(context, 'p', undefined, undefined),
    ]) {
      const { exit, stdout } = await say(body)
      expect(exit).toBe(0)
      expect(stdout).not.toContain('\u001b')
    }
  })

  it('generates ids for a draft when asked, and not for a plan that runs', async () => {
    await make()
    expect((await revising(null, { ids: 'generated' })).exit).toBe(0)
    expect(Object.keys(await statuses())).toEqual(['plan-p-01', 'plan-p-02', 'plan-p-03'])
    await run()
    expect(await revising(null, { ids: 'generated' })).toMatchObject({ exit: 'not-allowed' })
  })

  it('is refused for a plan that has ended, before anything is shown', async () => {
    await make()
    await run('a', 'b', 'c')
    for (const dryRun of [true, false])
      expect(await revising(PLAN.replace('Old', 'New'), { dryRun })).toMatchObject({ exit: 'ended', stdout: '' })
  })

  it.skipIf(lacks('dialects'))(
    "takes an agent's markdown: tasks are known by title, and its ticks change no status",
    async () => {
      await make()
      await run('a')
      const text = '# Plan: whatever\n\n## Steps\n\n- [ ] First\n- [x] Second\n- [ ] Something new\n'
      await write(text, 'plan.md')
      const said = await say(context => revise(context, 'p', 'plan.md', { merge: true }))
      expect(said.exit).toBe(0)
      expect(said.stdout).toContain("note: the text says 'b' is completed; here it is ready, and stays so")
      const now = await statuses()
      expect(now).toMatchObject({ a: 'completed', b: 'ready', c: 'pending' })
      expect(Object.keys(now)).toHaveLength(4)
      expect((await say(context => showRevision(context, 'p', 2, { original: true }))).stdout).toBe(text)
    },
  )

  it.skipIf(lacks('dialects'))('is refused with a sketch, which nobody could run', async () => {
    await make()
    const sketch = 'plan_id: x\nnodes:\n  - id: a\n    title: <title>\n    kind: research|implement\n'
    expect(await revising(sketch, { merge: true })).toMatchObject({
      exit: 'not-allowed',
      stderr: expect.stringContaining('new.yaml is only a sketch: '),
    })
    expect(await list()).toHaveLength(1)
  })

  it('wants to know what is to change', async () => {
    await make()
    expect(await revising(null)).toMatchObject({ exit: 'usage', stderr: expect.stringContaining('--remove') })
  })
})

describe('revisions', () => {
  it('are told in full, with both hashes, and the last two are compared', async () => {
    await make()
    await revising(PLAN.replace('src/**', 'src/a.ts').replace('First', 'One'))
    await revising(PLAN.replace('src/**', 'src/b.ts').replace('First', 'One'))
    expect((await say(context => diffRevisions(context, 'p', undefined, undefined))).stdout).toBe(
      'revision 2 → 3: changed scope of c\n\n~ task c: scope changed\n  write: [src/a.ts] → [src/b.ts]\n',
    )
    expect((await say(context => diffRevisions(context, 'p', 1, 1))).stdout).toBe('revision 1 → 1: no change\n')
    expect(await data(context => diffRevisions(context, 'p', 1, undefined))).toMatchObject({
      from: { revision: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/), verified: true },
      to: { revision: 3 },
      diff: { added: [], changed: [{ task: 'a' }, { task: 'c', changes: [{ kind: 'scope', key: 'write' }] }] },
    })
    const head = (await say(context => showRevision(context, 'p', 3, {}))).stdout
    expect(head).toMatch(/^revision 3\n {2}hash {2}[0-9a-f]{64} \(verified\)\n {2}by {4}ana@example.com\n/)
    expect(head).toContain('why   revise: replace new.yaml')
  })

  it('of a plan with one revision differ by nothing', async () => {
    await make()
    expect((await say(context => diffRevisions(context, 'p', undefined, undefined))).stdout).toBe(
      'revision 1 → 1: no change\n',
    )
  })

  it('whose definition is not the one that was hashed are called damaged, and that is no success', async () => {
    await make()
    const tampered = async (options: OpenOptions): Promise<Composed> => {
      const composed = await openState(options)
      const ask = async (query: { readonly type: string }): Promise<unknown> => {
        const answer = await composed.engine.ask(query as never)
        if (query.type !== 'entries') return answer
        return JSON.parse(JSON.stringify(answer).replaceAll('First', 'Forged'))
      }
      return {
        ...composed,
        engine: { ...composed.engine, ask } as unknown as Composed['engine'],
        close: composed.close,
      }
    }
    for (const body of [
      (context: Context) => listRevisions(context, 'p'),
      (context: Context) => showRevision(context, 'p', 1, {}),
    ])
      expect(await say(context => body({ ...context, openState: tampered }))).toMatchObject({
        exit: 1,
        stdout: expect.stringContaining('DAMAGED'),
      })
  })

  it('that do not exist are named, with what there is', async () => {
    await make()
    expect(await say(context => showRevision(context, 'p', 7, {}))).toMatchObject({
      exit: 'not-found',
      stderr: expect.stringMatching(/no revision 7\nit has only one/),
    })
    await revising(null, { order: 'c' })
    expect(await say(context => showRevision(context, 'p', 2, { original: true }))).toMatchObject({ exit: 'not-found' })
    expect(await say(context => diffRevisions(context, 'p', 1, 9))).toMatchObject({ exit: 'not-found' })
  })
})
