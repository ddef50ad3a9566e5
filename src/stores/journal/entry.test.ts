import { expect, test } from 'vitest'
import { BlobsMemory } from '../../../sim/memory-store/blobs-memory.ts'
import type { Command, Turn } from '../../domain/command.ts'
import type { Event } from '../../domain/event.ts'
import type { Actor } from '../../domain/id.ts'
import { RULES } from '../../domain/rules-version.ts'
import { name, numberedPlanId, numberedSha } from '../../testing/index.ts'
import { FakeClock } from '../store.contract.ts'
import { GENESIS, openEntry, sealEntry } from './entry.ts'
import { entryOf } from './verified-entries.ts'

const blobs = new BlobsMemory(new Map(), new FakeClock())
const id = numberedPlanId(1)

function roundTrip(command: Command, events: readonly Event[]): void {
  const said = { position: 9, plan: id, version: 2, now: 1, actor: 'ana' as Actor, fence: null, command, events }
  const { hash: _, ...read } = openEntry(GENESIS, id, sealEntry(GENESIS, said, blobs), blobs)
  expect(read).toEqual(said)
}

test('everything a turn tells comes back', () => {
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
  const started = (rules: number) => {
    const event = { type: 'plan.started', rules } as const
    const said = { position: 9, plan: id, version: 2, now: 1, actor: 'ana' as Actor, fence: null }
    return sealEntry(GENESIS, { ...said, command: { type: 'start', rules }, events: [event] }, blobs)
  }
  expect(openEntry(GENESIS, id, started(RULES), blobs).events).toEqual([{ type: 'plan.started', rules: RULES }])
  for (const rules of [4, RULES + 1]) {
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
