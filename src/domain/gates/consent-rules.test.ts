// What must have been agreed to, and what an agreement is good for. Nothing is looked at here: what a task would do is told.

import { describe, expect, it } from 'vitest'
import { create, edit, external, gate, given, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Command } from '../command.ts'
import type { Event } from '../event.ts'
import { advise, quoted } from '../hint.ts'
import { CONSENT_VALID_MS } from '../limits.ts'
import { nextActions } from '../next-actions.ts'
import type { Prepared } from '../result.ts'

const PLAN = numberedSha(1)
const [SEEN, OTHER] = [numberedSha(7), numberedSha(8)]
const SHIP = name('ship')

const found = (hash = SEEN, more: Partial<NonNullable<Prepared['consent']>> = {}): Command => ({
  type: 'turn',
  prepared: [{ task: SHIP, visit: 1, prepared: { consent: { from: PLAN, hash, ...more } } }],
})
const yes: Command = { type: 'decide', task: SHIP, verdict: 'approved', rationale: '', by: 'ana', hash: SEEN }
const asked = (why: string, hash = SEEN): Event => ({
  type: 'gate.opened',
  task: SHIP,
  asks: { type: 'consent', impact: 'deploy', why },
  hash,
  shown: hash,
  binds: { ship: hash },
})
const begun: Event = { type: 'attempt.started', task: SHIP, visit: 1, attempt: 1 }
const deploys = create(plan('p', task('ship', { kind: 'deploy' })))

describe('a task with a high impact', () => {
  it('does not begin by itself: what it would do is looked at, and then a person is asked', () => {
    const { journal } = given(deploys).when(START)
    expect(nextActions(journal.state, journal.clock.now()).prepare.map(({ definition }) => definition.id)).toEqual([
      'ship',
    ])
    given(deploys, START).when({ type: 'turn' }).then()
    given(deploys, START).when(found()).then(asked('it deploys'))
  })

  it('begins when what is found is what was agreed to', () => {
    given(deploys, START, found(), yes).when(found()).then(begun)
  })

  it('asks again when it is something else, and says what changed', () => {
    given(deploys, START, found(), yes)
      .when(found(OTHER, { changed: 'x.sh changed since' }))
      .then(
        { type: 'consent.voided', task: SHIP, reason: 'x.sh changed since' },
        asked('it deploys; its approval is no longer valid: x.sh changed since', OTHER),
      )
  })

  it('asks again when the approval is too old, by so much as a moment', () => {
    given(deploys, START, found(), yes)
      .after(CONSENT_VALID_MS - 1)
      .when(found())
      .then(begun)
    given(deploys, START, found(), yes)
      .after(CONSENT_VALID_MS)
      .when(found())
      .then(
        { type: 'consent.voided', task: SHIP, reason: 'it was approved too long ago' },
        asked('it deploys; its approval is no longer valid: it was approved too long ago'),
      )
  })

  it('is never begun by what was only approved as it was written', () => {
    const { journal } = given(deploys, START, found(), yes).when(found(OTHER, { written: SEEN }))
    expect(journal.state.tasks.get(SHIP)!.status).toBe('waiting')
  })

  it('is not believed to be what was found under another definition', () => {
    given(deploys, START, found(), yes)
      .when({
        ...found(),
        prepared: [{ task: SHIP, visit: 1, prepared: { consent: { from: OTHER, hash: SEEN } } }],
      } as Command)
      .then()
  })

  it('that was found to be something else right before its runner was called is asked about, without a failure', () => {
    const failure = {
      class: 'policy',
      code: 'consent',
      message: 'not approved: x.sh changed since',
      retryable: false,
    } as const
    const { journal } = given(deploys, START, found(), yes, found()).when({
      type: 'turn',
      settled: [{ task: SHIP, visit: 1, attempt: 1, result: { status: 'failed', failure } }],
    })
    const ship = journal.state.tasks.get(SHIP)!
    expect([ship.status, ship.failures, ship.consent]).toEqual(['ready', 0, null])
    journal.must(found(OTHER))
    expect(ship.gate?.asks).toMatchObject({ why: 'it deploys; its approval is no longer valid: x.sh changed since' })
  })

  it('is asked about before its files are captured, and not begun without them', () => {
    const careful = create(plan('p', edit('ship', 'a.txt', { kind: 'deploy' })))
    given(careful, START).when(found()).then(asked('it deploys'))
    given(careful, START, found(), yes).when(found()).then()
  })
})

describe('a task behind a gate', () => {
  const behind = create(plan('p', gate('ok'), task('ship', { needs: ['ok'] })))
  const open: Event = {
    type: 'gate.opened',
    task: name('ok'),
    asks: { type: 'approval', show: [] },
    hash: numberedSha(5),
    binds: { ship: SEEN },
  }
  const ok: Command = {
    type: 'decide',
    task: name('ok'),
    verdict: 'approved',
    rationale: '',
    by: 'ana',
    hash: numberedSha(5),
  }

  it('begins as it was approved there', () => {
    given(behind, START, open, ok).when(found()).then(begun)
  })

  it('asks when only its words were known then', () => {
    const { journal } = given(behind, START, open, ok).when(found(OTHER, { written: SEEN }))
    expect(journal.state.tasks.get(SHIP)!.gate?.asks).toMatchObject({
      why: 'its approval is no longer valid: not all of it was known when it was approved',
    })
  })

  it('asks when it is something else', () => {
    const { journal } = given(behind, START, open, ok).when(found(OTHER))
    expect(journal.state.tasks.get(SHIP)!.gate?.asks).toEqual({
      type: 'consent',
      impact: 'changed',
      why: 'its approval is no longer valid: it is not what was approved',
    })
  })

  it('asks when the gate approved without it', () => {
    const { journal } = given(behind, START, { ...open, binds: {} }, ok).when(found())
    expect(journal.state.tasks.get(SHIP)!.gate?.asks).toMatchObject({
      why: "the approval at 'ok' was for something else",
    })
  })

  it('asks nobody when the gate was passed over', () => {
    given(behind, START, open, { type: 'skip', task: name('ok'), reason: 'no need' })
      .when({ type: 'turn' })
      .then(begun)
  })
})

describe('an external task with a high impact', () => {
  const deploying = create(plan('p', external('ship', { kind: 'deploy' })))
  const claim = { type: 'claim', task: SHIP, token: 't', by: 'agent' } as const
  const held: Event = { ...begun, claim: { token: 't', by: 'agent' } } as Event

  it('is asked about first, and claimed by whoever looked at what was approved', () => {
    expect(given(deploying, START).when(claim).thenRefused('not-ready')).toEqual({
      code: 'not-ready',
      message: "'ship' must be approved before it can be claimed: it deploys",
      hint: advise`${quoted('inbox')} shows what it would do; ${quoted('approve', { plan: 'p', task: 'ship' })} approves it`,
    })
    given(deploying, START).when(found()).then(asked('it deploys'))
    given(deploying, START, found(), yes)
      .when({ ...claim, consent: { from: PLAN, hash: SEEN } })
      .then(held)
    const other = given(deploying, START, found(), yes).when({ ...claim, consent: { from: PLAN, hash: OTHER } })
    expect(other.thenRefused('not-ready').message).toContain(
      'the approval is no longer valid: it is not what was approved',
    )
    // Nobody looked: nothing is taken for granted.
    given(deploying, START, found(), yes).when(claim).thenRefused('not-ready')
  })
})
