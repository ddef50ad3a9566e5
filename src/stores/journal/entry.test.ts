import { expect, test } from 'vitest'
import type { Command, Turn } from '../../domain/command.ts'
import type { Event } from '../../domain/event.ts'
import type { Actor } from '../../domain/id.ts'
import { bindItems } from '../../domain/plan-rules/for-each.ts'
import { RULES } from '../../domain/rules-number.ts'
import { name, numberedPlanId, numberedSha, plan, task } from '../../testing/index.ts'
import { BlobsMemory } from '../memory/blobs-memory.ts'
import { FakeClock } from '../store.contract.ts'
import { GENESIS, openEntry, pack, sealEntry, unpack } from './entry.ts'
import { entryOf } from './verified-entries.ts'

const written = plan('p', task('f', { forEach: { in: '[1]' } }))
const source = { dialect: 'markdown', text: 'x'.repeat(1_000) }

function roundTrip(command: Command, events: readonly Event[]): number {
  const text = JSON.stringify(pack(command, events))
  expect(unpack(JSON.parse(text))).toEqual({ command, events })
  return text.length
}

test('the text a plan was read from is written once, and comes back in command and event', () => {
  const said = { plan: numberedPlanId(1), definition: written, hash: numberedSha(1), source }
  const create: Command = { type: 'create', ...said, imported: [{ task: name('f'), status: 'skipped' }] }
  expect(roundTrip(create, [{ type: 'plan.created', ...said }])).toBeLessThan(1_000 + 700)
  const revise: Command = { type: 'revise', definition: written, hash: numberedSha(2), rationale: 'r', source }
  const { type: _, ...rest } = revise
  expect(roundTrip(revise, [{ type: 'plan.revised', revision: 2, ...rest } as Event])).toBeLessThan(1_000 + 500)
})

test('a definition that binds items is written once; one that changed nothing is written out', () => {
  const definition = bindItems(written, name('f'), ['x'.repeat(1_000)])
  const one = { task: name('f/items'), visit: 1, from: numberedSha(1), items: [1], definition, hash: numberedSha(2) }
  const turn: Command = { type: 'turn', expanded: [one] }
  const revised = { type: 'plan.revised', revision: 2, definition, hash: numberedSha(2), rationale: 'r' } as const
  expect(roundTrip(turn, [revised])).toBeLessThan(1_000 + 700)
  roundTrip(turn, [])
})

test('everything a start says comes back', () => {
  const started = { type: 'attempt.started', task: name('f'), visit: 2, attempt: 3 } as const
  const turn: Command = { type: 'turn' }
  const all = [
    started,
    { ...started, preimage: numberedSha(1) },
    { ...started, before: numberedSha(2) },
    { ...started, unwatched: 'no room' },
    { ...started, inputHash: numberedSha(3) },
    { ...started, claim: { token: 't', by: 'ana' } },
    { ...started, reserves: { root: '..', paths: ['src/**'], seen: 7 } },
  ]
  roundTrip(turn, all)
})

test('everything a turn tells comes back, whatever stands beside it', () => {
  const result = { status: 'succeeded' } as const
  const of = { task: name('f'), visit: 1, attempt: 1 }
  const every: Required<Turn> = {
    type: 'turn',
    settled: [{ ...of, result }],
    prepared: [{ task: name('g'), visit: 1, prepared: { before: numberedSha(1) } }],
    restored: [{ task: name('g'), to: numberedSha(1), saved: numberedSha(2) }],
    compensated: [{ task: name('h'), result }],
    committed: [{ task: name('f'), visit: 1, operations: [] }],
    rolledBack: { id: 'r', outcome: { changes: null, paths: 0 } },
    expanded: [],
    gates: [
      {
        task: name('g'),
        visit: 1,
        from: numberedSha(1),
        question: { asks: { type: 'approval', show: [] }, hash: numberedSha(3) },
      },
    ],
    proposed: [
      {
        id: 'p1',
        definition: { name: name('p') as never, tasks: [] },
        hash: numberedSha(4),
        base: numberedSha(5),
        rationale: 'better',
        by: 'engine',
      },
    ],
    notices: [{ id: '7.0', kind: 'waiting', to: 'hook', task: name('g') }],
    shortage: { kind: 'disk-full', code: 'ENOSPC', message: 'the disk is full', hint: 'Free some space.' },
    held: [name('i')],
    start: false,
  }
  roundTrip(every, [{ type: 'attempt.succeeded', ...of, result }])
})

test('an entry whose rules this program does not know is refused, with its place and what to do', () => {
  const blobs = new BlobsMemory(new Map(), new FakeClock())
  const id = numberedPlanId(1)
  const started = (rules: number) => {
    const event = { type: 'plan.started', rules } as const
    const said = { position: 9, plan: id, version: 2, now: 1, actor: 'ana' as Actor, fence: null }
    return sealEntry(GENESIS, { ...said, command: { type: 'start', rules }, events: [event] }, blobs)
  }
  expect(openEntry(GENESIS, id, started(RULES), blobs).events).toEqual([{ type: 'plan.started', rules: RULES }])
  for (const rules of [RULES - 1, RULES + 1]) {
    const message = `entry 2 of plan ${id} cannot be read: it has rules ${rules}, and this program knows ${RULES}; use the planfold that wrote it`
    const stored = started(rules)
    expect(() => openEntry(GENESIS, id, stored, blobs)).toThrow(
      expect.objectContaining({ name: 'StoreDamaged', message, hint: 'use the planfold that wrote it' }),
    )
    expect(() => entryOf({ ...stored, plan: id }, blobs)).toThrow(
      expect.objectContaining({ fault: 'unknown-format', version: 2, position: 9, message }),
    )
  }
})
