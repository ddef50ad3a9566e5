// Random lives of random plans, seen from outside: trail, inbox, digest and handoff tell what happened and what waits, whatever it
// was.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { commandOf, moves, plans } from '../../../sim/random-journals.ts'
import { ClockFake, create, EPOCH, Journal, numberedSha, START } from '../../testing/index.ts'
import { PLAN_ENDED } from '../status.ts'
import { AuditReader } from './audit.ts'
import { digest } from './digest.ts'
import { handoff } from './handoff.ts'
import { inboxOf } from './inbox.ts'
import { InboxPast } from './inbox-history.ts'

/** More of them on request: `PLANFOLD_RUNS=20000`. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 60)
const TIMEOUT_MS = 600_000 + RUNS * 20

it(
  'every question waits under a key of its own that is never used again, and what became of it is known',
  () => {
    fc.assert(
      fc.property(plans, moves, (definition, list) => {
        const journal = new Journal(new ClockFake())
        const asked = new Set<string>()
        const answered = new Set<string>()
        const step = (command: Parameters<Journal['submit']>[0]): void => {
          journal.submit(command, 'ana')
          if (journal.entries.length === 0) return
          const items = inboxOf(journal.state)
          const gates = items.filter(({ asks }) => asks.type !== 'work').map(({ key }) => key)
          const open = PLAN_ENDED.has(journal.state.status)
            ? []
            : journal.state.order.filter(({ gate }) => gate !== null)
          expect(gates).toHaveLength(open.length)
          expect(new Set(items.map(({ key }) => key)).size).toBe(items.length)
          expect(gates.filter(key => answered.has(key))).toEqual([])
          for (const key of asked) if (!gates.includes(key)) answered.add(key)
          for (const key of gates) asked.add(key)
        }
        step(create(definition))
        step(START)
        for (const move of list) {
          journal.clock.advance(move.luck % 400)
          step(commandOf(journal.state, move, journal.clock.now(), journal.entries))
        }
        for (const key of asked) {
          const past = new InboxPast(each => each === key)
          for (const entry of journal.entries) past.read(entry)
          expect(past.found?.item.key).toBe(key)
          expect(past.found?.by === null).toBe(!answered.has(key))
        }
      }),
      { numRuns: RUNS },
    )
  },
  TIMEOUT_MS,
)

it(
  'every decision, revision and attempt is in the trail and in what is handed on',
  () => {
    fc.assert(
      fc.property(plans, moves, (definition, list) => {
        const journal = new Journal(new ClockFake())
        journal.submit(create(definition))
        journal.submit(START)
        for (const move of list) {
          journal.clock.advance(move.luck % 400)
          journal.submit(commandOf(journal.state, move, journal.clock.now(), journal.entries), 'ana')
        }
        const entries = journal.entries.map(entry => ({ ...entry, hash: numberedSha(entry.version) }))
        if (entries.length === 0) return
        const count = (type: string): number =>
          entries.reduce((sum, { events }) => sum + events.filter(event => event.type === type).length, 0)
        const reader = new AuditReader(() => numberedSha(1))
        const lines = entries.flatMap(entry => reader.read(entry))
        const handed = handoff(entries)
        for (const type of ['gate.decided', 'plan.revised', 'attempt.started', 'attempt.failed', 'attempt.lost'])
          expect(lines.filter(line => line.type === type)).toHaveLength(count(type))
        for (const line of lines.filter(({ type }) => type === 'gate.decided')) expect(line.facts).toHaveProperty('on')
        expect(handed.decisions).toHaveLength(count('gate.decided'))
        expect(handed.revisions).toHaveLength(1 + count('plan.revised'))
        expect(handed.setbacks).toHaveLength(count('attempt.failed') + count('attempt.lost'))
        expect(handed.rollbacks).toHaveLength(count('rollback.started'))
        expect(JSON.parse(JSON.stringify(lines))).toEqual(lines)
        const told = digest(journal.state, entries, EPOCH, journal.clock.now())
        expect(told.decided).toHaveLength(handed.decisions.length)
        expect(told.waiting).toEqual(inboxOf(journal.state))
      }),
      { numRuns: RUNS },
    )
  },
  TIMEOUT_MS,
)
