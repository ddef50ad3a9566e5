// A plan is exported as it stands, in any format that can say it, or as the text it was made of.

import { beforeEach, expect, it } from 'vitest'
import { lacks } from '../composition/missing-extra.fixture.ts'
import type { PlanName } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { exited, name, setup } from '../engine/rooms.fixture.ts'
import { allPlans, documentFiles, exportOriginal, exportPlan } from './export-plan.ts'
import type { PlanTarget } from './find-target.ts'
import type { CallerEngine } from './run-plan.ts'

const PLAN: PlanDefinition = {
  name: 'p' as PlanName,
  tasks: [
    { id: name('a'), title: 'First', action: { type: 'external' } },
    { id: name('b'), title: 'Second', action: { type: 'external' }, needs: [name('a')] },
  ],
}
const TEXT = 'planfold: 1\nname: p\ntasks: []\n'

let engine: CallerEngine
beforeEach(() => {
  engine = setup(async () => exited(0)).engine
})
async function make(
  more: { readonly source?: { readonly text: string; readonly dialect: string } } = {},
): Promise<PlanTarget> {
  const made = await engine.submit(null, { type: 'create', definition: PLAN, ...more })
  if (!made.ok) throw new Error(made.refusal.message)
  return { plan: made.plan, name: made.name }
}
const textOf = (done: Awaited<ReturnType<typeof exportPlan | typeof exportOriginal>>): string =>
  done.status === 'exported' ? done.document.text : done.status

it('as YAML or JSON, nothing is lost', async () => {
  const target = await make()
  const yaml = await exportPlan(engine, target, 'yaml')
  expect(yaml).toMatchObject({ status: 'exported', document: { ...target, revision: 1, format: 'yaml', lost: [] } })
  expect(await exportPlan(engine, target, 'planfold')).toMatchObject({ document: { text: textOf(yaml) } })
  expect(JSON.parse(textOf(await exportPlan(engine, target, 'json')))).toMatchObject({ name: 'p' })
})

it.skipIf(lacks('dialects'))('in another format, with where its tasks stand now', async () => {
  const target = await make()
  await engine.submit(target.plan, { type: 'start' })
  await engine.submit(target.plan, { type: 'report', task: name('a'), result: { status: 'succeeded' } })
  expect(textOf(await exportPlan(engine, target, 'markdown-checklist')).match(/\[.\] .*/g)).toHaveLength(2)
  expect(textOf(await exportPlan(engine, target, 'markdown-checklist'))).toMatch(/\[x\].*First[\s\S]*\[ \].*Second/)
})

it.skipIf(lacks('dialects'))('a format that nobody knows is named with the one that may be meant', async () => {
  const target = await make()
  expect(await exportPlan(engine, target, 'markdown-checklst')).toEqual({
    status: 'no-format',
    near: 'markdown-checklist',
  })
  expect(await exportPlan(engine, target, 'nothing-like-it')).toEqual({ status: 'no-format', near: null })
  expect(await exportPlan(engine, { plan: 'nobody' as never, name: 'nobody' }, 'yaml')).toEqual({ status: 'gone' })
})

it('the original is the text of the current revision, or says which revision has one', async () => {
  expect(await exportOriginal(engine, await make())).toEqual({ status: 'no-text', revision: 1, last: null })
})

it('the original of a later revision without a text names the last that has one', async () => {
  const target = await make({ source: { text: TEXT, dialect: 'planfold' } })
  expect(textOf(await exportOriginal(engine, target))).toBe(TEXT)
  await engine.submit(target.plan, { type: 'revise', definition: { ...PLAN, goal: 'more' }, rationale: 'more' })
  expect(await exportOriginal(engine, target)).toEqual({ status: 'no-text', revision: 2, last: 1 })
})

it.skipIf(lacks('dialects'))('a document whose format is a folder is several files', async () => {
  const target = await make()
  const done = await exportPlan(engine, target, 'backlog-md')
  if (done.status !== 'exported') throw new Error(done.status)
  const split = await documentFiles(done.document)
  expect(split.status === 'files' && split.files.length).toBe(2)
  expect(await documentFiles({ format: 'yaml', text: '' })).toEqual({ status: 'one-file' })
})

it('all plans are found, however many there are', async () => {
  expect(await allPlans(engine)).toEqual([])
  const targets = [await make()]
  for (let at = 2; at <= 201; at++)
    await engine.submit(null, { type: 'create', definition: { ...PLAN, name: `p-${at}` as PlanName } })
  const all = await allPlans(engine)
  expect(all).toHaveLength(201)
  expect(all).toContain(targets[0]!.plan)
})

it.skipIf(lacks('pictures'))(
  'as HTML, it is a report that opens from disk: no script, no address, and hostile words stay words',
  async () => {
    const hostile = `<img src=x onerror=alert(1)>"'&<script>alert(2)</script>\u202e`
    const definition = { ...PLAN, title: hostile, goal: hostile, tasks: [{ ...PLAN.tasks[0]!, title: hostile }] }
    const made = await engine.submit(null, { type: 'create', definition })
    if (!made.ok) throw new Error(made.refusal.message)
    await engine.submit(made.plan, { type: 'note', text: hostile })
    const text = textOf(await exportPlan(engine, { plan: made.plan, name: made.name }, 'html'))
    expect(text).toMatch(/^<!doctype html>/)
    for (const part of ['<h2>Graph</h2>', '<svg ', '<h2>Tasks</h2>', '<h2>Notes</h2>', '<h2>Revisions</h2>'])
      expect(text).toContain(part)
    expect(text).toContain("default-src 'none'")
    expect(text).not.toMatch(/<(img|script|iframe|link|object|foreignObject|a)\b/i)
    expect(text).not.toMatch(/\s(on\w+|href|src)="/i)
    expect(text).not.toContain('\u202e')
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
  },
)
