import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AskedQuestion, InboxEntry, OpenReview } from '../../../engine/engine.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { resume } from '../plans/resume.ts'
import { run } from '../plans/run.ts'
import { show } from '../plans/show.ts'

import { audit } from '../records/audit.ts'
import { handoff } from '../records/handoff.ts'
import { answerQuestion, review } from './answer.ts'
import { ask, fieldOf } from './ask.ts'
import { valuesFor } from './form-values.ts'
import { answerInbox, inbox } from './inbox.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

const start = async (text: string) => {
  await here.write('p.yaml', `planfold: 1\nname: p\n${text}`)
  const said = await here.say(context => run(context, 'p.yaml', { start: true }))
  expect(said.exit, said.stderr).toBeTypeOf('number')
}
const data = async <T>(body: Parameters<Place['say']>[0], as?: string): Promise<T> => {
  const environment: Record<string, string> = as === undefined ? {} : { PLANFOLD_AS: as }
  const said = await here.say(body, { json: true, environment })
  if (said.exit !== 0) throw new Error(`${said.exit}: ${said.stderr}`)
  return (JSON.parse(said.stdout) as { data: T }).data
}
const items = async () => (await data<{ items: readonly InboxEntry[] }>(context => inbox(context, {}))).items
const answerAs = (
  as: string,
  id: string,
  word: string,
  options: Parameters<typeof answerInbox>[3] = {},
  more: string[] = [],
) => here.say(context => answerInbox(context, id, word, options, more), { environment: { PLANFOLD_AS: as } })

describe('a question in the middle of work', () => {
  beforeEach(() => start('tasks: [{ id: work, assignee: bo }, { id: other }]\n'))

  it('waits in the inbox, is answered there with typed values, and the answer is found by its id', async () => {
    const asked = await data<AskedQuestion>(
      context => ask(context, ['p', 'work', 'How many?'], { field: ['count:number', 'why?:text'] }),
      'agent',
    )
    expect(asked).toMatchObject({ text: 'How many?', by: 'agent', task: 'work', answer: null })
    const item = (await items()).find(({ id }) => id === asked.id)
    expect(item).toMatchObject({ asks: { type: 'agent-question', text: 'How many?' }, name: 'p' })

    expect(await answerAs('ana', asked.id, 'count=many')).toMatchObject({ exit: 'usage' })
    expect(await answerAs('ana', asked.id, 'size=3')).toMatchObject({ exit: 'usage' })
    expect(await answerAs('ana', asked.id, 'why=x')).toMatchObject({ exit: 'invalid' })
    expect(await answerAs('ana', asked.id, 'count=3', {}, ['why=enough'])).toMatchObject({ exit: 0 })

    const answer = { answers: { count: 3, why: 'enough' }, by: 'ana' }
    expect(await data(context => ask(context, ['p'], { id: asked.id }))).toMatchObject({ answer })
    expect(await data(context => show(context, 'p', asked.id))).toMatchObject({ question: { answer } })
    const late = await answerAs('cy', asked.id, 'count=4')
    expect(late).toMatchObject({ exit: 'not-ready', stderr: expect.stringContaining('ana answered question') })
    const trail = await here.say(context => audit(context, 'p', {}))
    expect(trail.stdout).toContain('ana answered question')
    expect(trail.stdout).toContain('"count":3')
  })

  it('without a form wants a text, and the bare value is enough', async () => {
    const { id } = await data<AskedQuestion>(context => ask(context, ['other', 'which?'], {}))
    expect(await here.say(context => answerQuestion(context, 'p', id, ['this one'], {}))).toMatchObject({ exit: 0 })
    expect(await here.say(context => ask(context, ['p'], { id }))).toMatchObject({ stdout: 'answer=this one\n' })
    expect(await here.say(context => answerQuestion(context, 'p', id, ['that'], {}))).toMatchObject({
      exit: 'not-ready',
    })
  })

  it('is waited for until it is answered; a time that is over leaves it', async () => {
    const { id } = await data<AskedQuestion>(context => ask(context, ['p', 'ok?'], { field: ['ok:boolean'] }))
    const late = await here.say(context => ask(context, ['p'], { id, wait: true, timeout: 1 }))
    expect(late).toMatchObject({ exit: 4 })
    const waiting = data<AskedQuestion>(context => ask(context, ['p'], { id, wait: true, timeout: 120_000 }))
    expect(await here.say(context => answerQuestion(context, 'p', id, ['ok=yes'], {}))).toMatchObject({ exit: 0 })
    expect(await waiting).toMatchObject({ answer: { answers: { ok: true } } })
  })

  it('with choices but another type is refused, and the hint says which type it must be', async () => {
    expect(() => fieldOf('region:eu,us')).toThrow(expect.objectContaining({ hint: 'write region:choice:eu,us' }))
    expect(() => fieldOf('region:text:eu,us')).toThrow(expect.objectContaining({ hint: 'write region:choice:eu,us' }))
    for (const [field, message, hint] of [
      ['{ name: region, choices: [eu, us] }', "a field with choices has the type 'choice'", 'add type: choice'],
      [
        '{ name: region, type: text, choices: [eu, us] }',
        "a field with choices has the type 'choice', not 'text'",
        'write type: choice',
      ],
    ]) {
      await here.write('form.yaml', `[${field}]`)
      const asked = here.say(async context => {
        await expect(ask(context, ['p', 'Which?'], { form: 'form.yaml' })).rejects.toMatchObject({
          message: `form.yaml: field 1: ${message}`,
          hint,
        })
        return 0
      })
      expect(await asked).toMatchObject({ exit: 0 })
    }
  })

  it('is refused when nobody could answer it, and when there is no such task', async () => {
    const say = (words: string[], field: string[]) => here.say(context => ask(context, words, { field }))
    expect((await say(['p', 'x'], ['a:strnig'])).exit).toBe('usage')
    expect((await say(['p', 'x'], ['a:text', 'a:text'])).exit).toBe('invalid')
    expect((await say(['p', 'nowhere', 'x'], ['a:text'])).exit).toBe('not-found')
    expect((await say(['p', '  '], ['a:text'])).exit).toBe('invalid')
    expect(await here.say(context => answerQuestion(context, 'p', 'nowhere', ['x'], {}))).toMatchObject({
      exit: 'not-found',
      stderr: expect.stringContaining("plan 'p' has no task or question 'nowhere'"),
    })
    expect((await here.say(context => ask(context, ['p'], { id: 'never' }))).exit).toBe('not-found')
    expect((await items()).filter(({ asks }) => asks.type === 'agent-question')).toEqual([])
  })
})

describe('gates that ask for more than yes', () => {
  beforeEach(() =>
    start(`policy: { roles: { lead: [bo, cy] } }
tasks:
  - { id: build, run: ["true"], effect: pure }
  - { id: sign, needs: [build], gate: { type: approval, role: lead, count: 2 } }
  - { id: db, gate: { type: decision, options: [{ id: pg, pros: [known], cons: [heavy], cost: 2 days }, { id: lite }] } }
  - { id: where, gate: { type: question, question: "Which region?", form: [{ name: region, type: choice, choices: [eu, us] }, { name: copies, type: number, default: 2 }] } }
`),
  )
  const waits = async (task: string) => (await items()).find(item => item.task === task)!

  it('are answered by id: an option, a form, a quorum of a role, a push back', async () => {
    const said = await here.say(context => inbox(context, {}))
    expect(said.stdout).toContain('pg: + known; - heavy; costs 2 days')
    expect(said.stdout).toContain('0 of 2 approved')
    const [db, where, sign] = [await waits('db'), await waits('where'), await waits('sign')]
    expect(await answerAs('ana', db.id, 'choose', {}, ['mysql'])).toMatchObject({ exit: 'invalid' })
    expect(await answerAs('ana', db.id, 'choose')).toMatchObject({ exit: 'usage' })
    expect(await answerAs('ana', db.id, 'choose', { message: 'we know it' }, ['pg'])).toMatchObject({ exit: 0 })
    expect(await answerAs('ana', where.id, 'region=asia')).toMatchObject({ exit: 'invalid' })
    expect(await answerAs('ana', where.id, 'region=eu')).toMatchObject({ exit: 0 })

    expect(await answerAs('ana', sign.id, 'approve')).toMatchObject({ exit: 'not-allowed' })
    expect(await answerAs('bo', sign.id, 'approve')).toMatchObject({ exit: 0 })
    expect(await answerAs('bo', sign.id, 'approve')).toMatchObject({ exit: 'not-allowed' })
    expect((await waits('sign')).votes).toMatchObject({ given: [{ by: 'bo' }], wanted: 2 })
    expect(await answerAs('cy', sign.id, 'push-back')).toMatchObject({ exit: 'usage' })
    expect(await answerAs('cy', sign.id, 'push-back', { message: 'shorter' })).toMatchObject({ exit: 0 })
    expect(await answerAs('cy', sign.id, 'approve')).toMatchObject({
      exit: 'not-ready',
      stderr: expect.stringContaining('changes requested by cy, back to build'),
    })
  })

  it('are answered only as what was looked at', async () => {
    const sign = await waits('sign')
    expect(await answerAs('bo', sign.id, 'approve', { hash: 'f'.repeat(64) })).toMatchObject({ exit: 'conflict' })
    const on = 'on' in sign.asks ? sign.asks.on! : ''
    expect(await answerAs('bo', sign.id, 'approve', { hash: on.slice(0, 12) })).toMatchObject({ exit: 0 })
  })
})

describe('a review', () => {
  const gates = (...ids: string[]) => ids.map(id => `  - { id: ${id}, gate: approval }`).join('\n')

  it('shows all that asks for approval, and decides about all of it in one entry', async () => {
    await start(`policy: { review: { window: 1h } }\ntasks:\n${gates('one', 'two', 'three')}\n`)
    const shown = await data<{ review: OpenReview }>(context => review(context, 'p', {}))
    expect(shown.review.items.map(({ task }) => task)).toEqual(['one', 'two', 'three'])
    const hash = shown.review.hash.slice(0, 12)
    const no = (options: Parameters<typeof review>[2]) => here.say(context => review(context, 'p', options))
    expect(await no({ approve: true, reject: true })).toMatchObject({ exit: 'usage' })
    expect(await no({ reject: true })).toMatchObject({ exit: 'usage' })
    expect(await no({ reject: true, message: ' ' })).toMatchObject({ exit: 'usage' })
    expect(await no({ approve: true, hash: 'deadbeef' })).toMatchObject({ exit: 'conflict' })
    expect(await items()).toHaveLength(3)
    const told = await data<{ events: readonly { type: string; verdict?: string }[] }>(context =>
      review(context, 'p', { approve: true, message: 'all of it', hash }),
    )
    expect(told.events.filter(({ type }) => type === 'gate.decided')).toHaveLength(3)
    expect(await items()).toEqual([])
    expect(await no({ approve: true })).toMatchObject({ exit: 'not-ready' })
  })

  it('is not the one that was seen when somebody has decided about a part of it', async () => {
    await start(`tasks:\n${gates('one', 'two')}\n`)
    const { review: seen } = await data<{ review: OpenReview }>(context => review(context, 'p', {}))
    const [first] = await items()
    await answerAs('bo', first!.id, 'approve')
    const options = { approve: true, message: 'x', hash: seen.hash.slice(0, 12) }
    expect(await here.say(context => review(context, 'p', options))).toMatchObject({ exit: 'conflict' })
    expect(await items()).toHaveLength(1)
  })
})

describe('at the end', () => {
  it('a handoff says what was asked, done, decided and left, with the artifacts beside it', async () => {
    await start(`goal: A report
tasks:
  - id: make
    write: ["out/**"]
    run: mkdir -p out; echo report > out/r.txt
    outputs: { report: { file: out/r.txt } }
  - { id: review, needs: [make], gate: approval }
  - { id: last, needs: [review], run: ["true"], effect: pure }
`)
    const { id } = await data<AskedQuestion>(context => ask(context, ['p', 'make', 'Which format?'], {}))
    await here.say(context => answerQuestion(context, 'p', id, ['plain'], {}))
    const [gate] = await items()
    await answerAs('bo', gate!.id, 'approve', { message: 'good' })
    const end = await here.say(context => resume(context, 'p', {}))
    expect(end).toMatchObject({ exit: 0, stdout: expect.stringContaining('planfold summary p --form handoff') })
    expect(await here.say(context => handoff(context, 'p', { out: 'handed' }))).toMatchObject({ exit: 0 })
    const postmortem = await here.read('handed/POSTMORTEM.md')
    expect(postmortem).toContain('## Questions')
    expect(postmortem).toMatch(/Which format\? — ana&#64;example\.com: .*plain/)
    expect(postmortem).toContain('approved: good')
    const link = /\]\((artifacts\/[^)]+)\)/.exec(await here.read('handed/README.md'))
    expect(await here.read(`handed/${link?.[1]}`)).toBe('report\n')
    // Once more over what it wrote itself; never over what somebody else did.
    expect(await here.say(context => handoff(context, 'p', { out: 'handed' }))).toMatchObject({ exit: 0 })
    await here.write('handed/README.md', 'mine\n')
    expect(await here.say(context => handoff(context, 'p', { out: 'handed' }))).toMatchObject({ exit: 'exists' })
  })
})

describe('words of a form', () => {
  it('are read by the type of their field', () => {
    const form = ['a:text', 'b:number', 'c:boolean', 'd:list', 'e:choice:x,y=x'].map(fieldOf)
    expect(form.at(-1)).toEqual({ name: 'e', type: 'choice', choices: ['x', 'y'], default: 'x' })
    expect(fieldOf('f?')).toEqual({ name: 'f', type: 'text', optional: true })
    expect(fieldOf('n:number=-1.5')).toEqual({ name: 'n', type: 'number', default: -1.5 })
    expect(fieldOf('t:text=a=b:c')).toEqual({ name: 't', type: 'text', default: 'a=b:c' })
    expect(valuesFor(form, ['a=1.0', 'b=1e3', 'c=No', 'd=x, y', 'e=y'])).toEqual({
      a: '1.0',
      b: 1000,
      c: false,
      d: ['x', 'y'],
      e: 'y',
    })
    expect(valuesFor([fieldOf('a:text')], ['x=y'])).toEqual({ a: 'x=y' })
    const more = { name: 'more', type: 'choice', choices: ['yes', 'no', 'x=y'] } as const
    expect(() => valuesFor([more], ['mor=yes'])).toThrow(
      expect.objectContaining({ hint: "did you mean 'more'? Its answers: yes, no, x=y" }),
    )
    expect(valuesFor([more], ['x=y'])).toEqual({ more: 'x=y' })
    for (const bad of ['', ':text', 'a:choice', 'a:text:x', 'a:number=x', 'a b', '1:text', 'a:choice:x=z', '__proto__'])
      expect(() => fieldOf(bad), bad).toThrow()
    for (const bad of [['b='], ['b=1', 'b=2'], ['a'], ['z=1'], ['c=maybe'], ['d=[1'], ['__proto__=1']])
      expect(() => valuesFor(form, bad), bad.join(' ')).toThrow()
  })
})
