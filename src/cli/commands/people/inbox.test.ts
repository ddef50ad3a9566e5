import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Composed } from '../../../compose.ts'
import type { Actor, TaskName } from '../../../domain/id.ts'
import type { InboxEntry } from '../../../engine/engine.ts'
import type { Context, OpenOptions } from '../../context.ts'
import { openState } from '../../open-state.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { audit } from '../records/audit.ts'
import { digest } from '../records/digest.ts'
import { handoff } from '../records/handoff.ts'

import { rollback } from '../undo/rollback.ts'
import { answerInbox, inbox } from './inbox.ts'

let here: Place
beforeEach(async () => {
  here = await newPlace()
})
afterEach(() => here.remove())

const start = (file: string) => here.say(context => run(context, file, { start: true }))
async function items(): Promise<readonly InboxEntry[]> {
  const said = await here.say(context => inbox(context, {}), { json: true })
  return (JSON.parse(said.stdout) as { data: { items: readonly InboxEntry[] } }).data.items
}

// What a plan may hold to mislead whoever reads it: a turned line, a hidden joint, a cursor that moves.
const HIDDEN = 'ok\u202egnp.exe\u202c\u200bzero\u001b[2K\u0007\u2066'
const SEEN = '\\u{202e}gnp.exe\\u{202c}\\u{200b}zero\\u{1b}[2K\\u{7}\\u{2066}'
const misleading = (name: string): string => `planfold: 1
name: ${name}
tasks:
  - { id: draft, run: ["true"], effect: pure, accept: [${JSON.stringify(`${HIDDEN} reads well`)}] }
  - { id: review, title: ${JSON.stringify(HIDDEN)}, gate: approval, show: [${JSON.stringify(HIDDEN)}] }
  - { id: call, title: ${JSON.stringify(HIDDEN)}, assignee: ${JSON.stringify(HIDDEN)}, instruction: ${JSON.stringify(HIDDEN)} }
`

describe('what people read', () => {
  it('shows control, bidi and zero-width characters of a plan instead of obeying them', async () => {
    await here.write('p.yaml', misleading('p'))
    await start('p.yaml')
    const said = [
      await here.say(context => inbox(context, {})),
      await here.say(context => digest(context, [], { since: { agoMs: 1_000_000 } })),
      await here.say(context => audit(context, 'p', {})),
      await here.say(context => audit(context, 'p', { format: 'markdown' })),
      await here.say(context => handoff(context, 'p', {})),
    ]
    for (const { exit, stdout } of said) {
      expect(exit).toBe(0)
      expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Cf}/u)
    }
    expect(said[0]!.stdout.split(SEEN).length - 1).toBe(7)
    expect(said[1]!.stdout).toContain(SEEN)
  })

  it('is for one person, or for everybody', async () => {
    await here.write('p.yaml', misleading('p').replaceAll(JSON.stringify(HIDDEN), '"bo"'))
    await start('p.yaml')
    const names = async (who: string) => {
      const said = await here.say(context => inbox(context, { for: who }), { json: true })
      return (JSON.parse(said.stdout) as { data: { items: InboxEntry[] } }).data.items.map(({ task }) => task).sort()
    }
    expect(await names('bo')).toEqual(['call', 'draft', 'review'])
    expect(await names('cy')).toEqual(['draft', 'review'])
  })
})

describe('an answer by id', () => {
  /** Something happens to the plan after the id was looked up and before the order arrives. */
  function racing(context: Context, meanwhile: (composed: Composed) => Promise<unknown>): Context {
    let isFirst = true
    const composing = async (options: OpenOptions): Promise<Composed> => {
      const composed = await openState(options)
      const { engine } = composed
      const submit: typeof engine.submit = async (...order) => {
        if (isFirst) {
          isFirst = false
          await meanwhile(composed)
        }
        return await engine.submit(...order)
      }
      return {
        ...composed,
        engine: {
          submit,
          answered: (...asked) => engine.answered(...asked),
          caller: engine.caller,
          rightFor: order => engine.rightFor(order),
          as: who => engine.as(who),
          ask: query => engine.ask(query),
          watch: o => engine.watch(o),
          close: () => engine.close(),
          killSwitch: engine.killSwitch,
          memory: engine.memory,
          sessions: engine.sessions,
          goals: engine.goals,
        },
      }
    }
    return { ...context, openState: composing }
  }
  const review = 'review' as TaskName

  beforeEach(async () => {
    await here.write(
      'p.yaml',
      'planfold: 1\nname: p\ntasks: [{ id: review, gate: approval }, { id: other, gate: approval }]\n',
    )
    await start('p.yaml')
  })

  it('arrives although the plan moved, as long as the question is the same', async () => {
    const { id } = (await items()).find(({ task }) => task === 'review')!
    const said = await here.say(context =>
      answerInbox(
        racing(context, ({ engine }) => engine.submit('p', { type: 'note', text: 'x' })),
        id,
        'approve',
        {
          message: 'fine',
        },
      ),
    )
    expect(said).toMatchObject({ exit: 0, stdout: expect.stringContaining('review approved by ana@example.com: fine') })
    expect((await items()).map(({ task }) => task)).toEqual(['other'])
  })

  it('is refused, with what became of it, when somebody else was quicker', async () => {
    const { id } = (await items()).find(({ task }) => task === 'review')!
    const said = await here.say(context =>
      answerInbox(
        racing(context, ({ engine }) =>
          engine.as('bo' as Actor).submit('p', { type: 'decide', task: review, verdict: 'rejected', rationale: 'no' }),
        ),
        id,
        'approve',
        {},
      ),
    )
    expect(said.exit).toBe('not-ready')
    expect(said.stderr).toContain("'review' of 'p' does not ask that any more: review rejected by bo: no (bo, entry")
  })

  it('may be yes or no where these are the answers, and else names the command', async () => {
    const { id } = (await items()).find(({ task }) => task === 'review')!
    const answering = (word: string) => here.say(context => answerInbox(context, id, word, {}).catch(told))
    const told = (error: { readonly hint?: unknown }): never => {
      throw new Error(String(error.hint))
    }
    await expect(answering('perhaps')).rejects.toThrow(`planfold inbox answer ${id} approve`)
    const said = await here.say(context => answerInbox(context, id, 'yes', {}))
    expect(said).toMatchObject({ exit: 0, stdout: expect.stringContaining('review approved') })
    const other = (await items())[0]!.id
    expect((await here.say(context => answerInbox(context, other, 'No', { message: 'x' }))).stdout).toContain(
      'rejected',
    )
  })

  it('must be one of its answers', async () => {
    const { id } = (await items())[0]!
    expect(await here.say(context => answerInbox(context, id, 'aprove', {}))).toMatchObject({ exit: 'usage' })
    expect(await here.say(context => answerInbox(context, 'nothing', 'approve', {}))).toMatchObject({
      exit: 'not-found',
    })
    expect(await items()).toHaveLength(2)
  })
})

describe('a rollback that was stopped', () => {
  it('waits in the inbox until it is tried again or left', async () => {
    await here.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: send, run: ["true"], effect: idempotent, compensate: { run: ["sh", "-c", "test -e mended"] } }
  - { id: ask, needs: [send], gate: approval }
`,
    )
    await start('p.yaml')
    expect((await here.say(context => rollback(context, 'p', { yes: true }))).exit).not.toBe(0)
    const stopped = (await items()).find(({ asks }) => asks.type === 'rollback')!
    expect(stopped).toMatchObject({ task: null, name: 'p' })
    expect(stopped.answers.map(({ answer }) => answer)).toEqual(['again', 'keep', 'take', 'merge', 'leave'])
    expect(await here.say(context => answerInbox(context, stopped.id, 'leave', {}))).toMatchObject({ exit: 'usage' })

    await here.write('mended', '')
    const again = await here.say(context => answerInbox(context, stopped.id, 'again', {}))
    expect(again, again.stderr).toMatchObject({ exit: 0 })
    expect((await items()).filter(({ asks }) => asks.type === 'rollback')).toEqual([])
    expect((await here.say(context => answerInbox(context, stopped.id, 'again', {}))).stderr).toContain(
      'does not ask that any more: rolling back',
    )
  })

  it('is left with a word about it', async () => {
    await here.write(
      'p.yaml',
      `planfold: 1
name: p
tasks: [{ id: send, run: ["true"], effect: idempotent, compensate: { run: ["false"] } }]
`,
    )
    await start('p.yaml')
    expect((await here.say(context => rollback(context, 'p', { yes: true }))).exit).not.toBe(0)
    const [stopped] = await items()
    expect(stopped).toMatchObject({ asks: { type: 'rollback' } })
    expect(
      await here.say(context => answerInbox(context, stopped!.id, 'leave', { message: 'it is fine' })),
    ).toMatchObject({ exit: 0 })
    expect(await items()).toEqual([])
  })
})
