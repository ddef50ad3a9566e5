// Journals written once and kept for ever: today's program must fold them to the same state and decide them the same way.
// `UPDATE_GOLDEN=1` writes the journal of a new scenario below; one that exists is never written again. When a golden fails,
// either the program is wrong, or old journals need an upcast: never edit the golden.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  decision,
  edit,
  external,
  failed,
  gate,
  interrupted,
  Journal,
  type JournalEntry,
  name,
  numberedPlanId,
  numberedSha,
  plan,
  succeeded,
  task,
} from '../testing/index.ts'
import { decide } from './decide.ts'
import type { EventType } from './event.ts'
import { evolve } from './evolve.ts'
import { newState, packFold } from './fold.ts'
import { bindItems } from './items.ts'
import type { PlanDefinition } from './plan.ts'

const FOLDER = fileURLToPath(new URL('../../test/fixtures/journals/', import.meta.url))
const undo = { type: 'run', command: { argv: ['git', 'push', 'origin', '--delete', 'x'] } } as const
const retry = { attempts: 3, backoffMs: { min: 1_000, max: 30_000 } }

/** A journal in which every entry is a second after the one before. */
function begin(definition: PlanDefinition): Journal {
  const journal = new Journal()
  const submit = journal.submit.bind(journal)
  journal.submit = (command, actor) => {
    journal.clock.advance(1_000)
    return submit(command, actor)
  }
  journal.create(definition)
  journal.must({ type: 'start' })
  journal.turn()
  return journal
}

const scenarios: Readonly<Record<string, () => Journal>> = {
  'build-and-review': () => {
    const done = [
      { type: 'check', command: { argv: ['npm', 'test'] } },
      { type: 'prose', text: 'no caller has to change' },
    ] as const
    const journal = begin(
      plan(
        'build-and-review',
        edit('core', 'src/core.ts', { write: ['src/**'], retry }),
        task('lint', { needs: ['core'], when: 'inputs.lint', effect: 'pure' }),
        gate('review', { needs: ['core', 'lint'], on: { rejected: 'core' } }),
        task('ship', { needs: ['review'], effect: 'idempotent', priority: 5 }),
        { title: 'Build', goal: 'It works', done, concurrency: 2 },
      ),
    )
    journal.prepare('core', { preimage: numberedSha(10), inputHash: numberedSha(11) })
    journal.fail('core', { class: 'transient', retryable: true, message: 'busy', hint: 'wait' })
    journal.clock.advance(30_000)
    journal.turn({ restored: [{ task: name('core'), to: numberedSha(10), saved: numberedSha(12) }] })
    journal.prepare('core', { preimage: numberedSha(10), inputHash: numberedSha(11) })
    journal.succeed('core', {
      outputs: { lines: 12 },
      exit: 0,
      durationMs: 812,
      log: { sha256: numberedSha(13), bytes: 99 },
    })
    journal.prepare('lint', { when: true })
    journal.succeed('lint')
    journal.must({ type: 'decide', task: name('review'), verdict: 'rejected', rationale: 'names' })
    journal.turn()
    journal.prepare('core', { preimage: numberedSha(14), inputHash: numberedSha(15) })
    journal.succeed('core')
    journal.prepare('lint', { when: false })
    journal.must({ type: 'decide', task: name('review'), verdict: 'approved', rationale: 'good' })
    journal.turn()
    journal.succeed('ship')
    journal.succeed('done', {
      verdicts: [
        { criterion: 'npm test', holds: true, evidence: 'exit 0' },
        { criterion: 'no caller has to change', holds: null },
      ],
    })
    journal.must({ type: 'decide', task: name('done'), verdict: 'approved', rationale: 'I looked' })
    journal.must({ type: 'note', text: 'shipped', task: name('ship') })
    journal.must({ type: 'archive' })
    return journal
  },
  'crash-and-decide': () => {
    const journal = begin(
      plan(
        'crash-and-decide',
        task('push'),
        task('read', { effect: 'pure' }),
        edit('write', 'a.txt'),
        task('after', { needs: ['push'] }),
        task('pay'),
        { concurrency: 5 },
      ),
    )
    journal.prepare('write', { preimage: numberedSha(20) })
    journal.must({ type: 'recover', reason: 'its owner stopped before it ended' })
    journal.turn({
      restored: [{ task: name('write'), to: numberedSha(20), saved: numberedSha(21) }],
      prepared: [{ task: name('write'), visit: 1, prepared: { preimage: numberedSha(20) } }],
    })
    journal.settle('read', interrupted('shutting down'))
    journal.must({ type: 'decide', task: name('push'), verdict: 'again', rationale: 'nothing on the remote' })
    journal.must({ type: 'decide', task: name('pay'), verdict: 'done', rationale: 'the bank says so' })
    journal.turn()
    for (const one of ['push', 'read', 'write', 'after']) journal.succeed(one)
    return journal
  },
  'cancel-and-compensate': () => {
    const journal = begin(
      plan(
        'cancel-and-compensate',
        task('a', { compensate: undo }),
        task('b', { needs: ['a'], compensate: { type: 'edit', edits: [{ type: 'delete', file: 'b.txt' }] } }),
        task('c', { needs: ['b'], compensate: undo }),
        external('human'),
        task('never', { needs: ['human'] }),
      ),
    )
    journal.succeed('a')
    journal.succeed('b')
    journal.must({ type: 'claim', task: name('human'), token: 'k1', by: 'ana' })
    journal.must({ type: 'pause', reason: 'thinking' })
    journal.must({ type: 'cancel', reason: 'wrong branch' })
    journal.succeed('c')
    journal.must({ type: 'recover', reason: 'its owner stopped before it ended' })
    journal.turn()
    journal.turn({ compensated: [{ task: name('b'), result: failed({ message: 'gone already' }) }] })
    journal.turn({ compensated: [{ task: name('a'), result: succeeded() }] })
    return journal
  },
  'revise-and-retry': () => {
    const journal = begin(
      plan(
        'revise-and-retry',
        task('a'),
        task('b', { needs: ['a'] }),
        task('c', { needs: ['b'] }),
        task('free', { optional: true }),
      ),
    )
    journal.fail('a')
    journal.must({ type: 'pause', reason: 'look at it' })
    journal.fail('free')
    journal.must({
      type: 'revise',
      definition: plan(
        'revise-and-retry',
        task('a', { title: 'A, fixed' }),
        task('b', { needs: ['a'] }),
        task('extra', { needs: ['a'] }),
        task('c', { needs: ['b', 'extra'] }),
        task('free', { optional: true }),
      ),
      hash: numberedSha(2),
      rationale: 'a was wrong',
      expectedRevision: 1,
    })
    journal.must({ type: 'resume' })
    journal.turn()
    journal.succeed('a')
    journal.fail('extra')
    journal.succeed('b')
    journal.must({ type: 'skip', task: name('extra'), reason: 'not worth it' })
    journal.turn()
    journal.succeed('c')
    journal.must({ type: 'retry', task: name('b'), reason: 'new numbers' })
    journal.turn()
    journal.succeed('b')
    journal.succeed('c')
    return journal
  },
  branches: () => {
    const journal = begin(
      plan(
        'branches',
        task('probe', { on: { failure: 'repair' } }),
        task('repair', { on: { success: 'probe' } }),
        decision('pick', { on: { fast: 'quick', default: 'slow' } }),
        task('quick'),
        task('slow'),
        task('join', { needs: ['quick', 'slow'] }),
      ),
    )
    journal.fail('probe')
    journal.succeed('pick', { outcome: 'fast' })
    journal.succeed('repair')
    journal.succeed('quick')
    journal.succeed('probe')
    journal.succeed('join')
    return journal
  },
  agents: () => {
    const journal = begin(
      plan(
        'agents',
        external('research', { kind: 'research', retry }),
        external('write', { needs: ['research'], when: 'true' }),
      ),
    )
    journal.must({ type: 'claim', token: 'k1', by: 'agent:one' })
    journal.must({ type: 'lapse', task: name('research'), token: 'k1', reason: 'no sign of life' })
    journal.must({ type: 'claim', token: 'k2', by: 'agent:two' })
    journal.must({
      type: 'report',
      task: name('research'),
      token: 'k2',
      by: 'agent:two',
      result: failed({ retryable: true }),
    })
    journal.clock.advance(30_000)
    journal.turn()
    journal.must({
      type: 'report',
      task: name('research'),
      by: 'ana',
      result: succeeded({ outputs: { sources: ['a', 'b'] } }),
    })
    journal.prepare('write', { when: true })
    journal.must({ type: 'claim', token: 'k3', by: 'agent:two' })
    journal.must({ type: 'cancel', force: true, reason: 'out of time' })
    return journal
  },
  'groups-and-items': () => {
    const steps = (...tasks: PlanDefinition['tasks']) => ({ type: 'subplan', tasks }) as const
    const journal = begin(
      plan(
        'groups-and-items',
        task('scan', { effect: 'pure' }),
        task('fix', { needs: ['scan'], forEach: { in: 'tasks.scan.outputs.files' }, effect: 'pure' }),
        task('test', { needs: ['fix'], matrix: { os: ['linux', 'mac'], node: [20, 22] }, effect: 'pure' }),
        task('ship', {
          needs: ['test'],
          action: steps(task('build', { effect: 'pure' }), external('announce', { needs: ['build'] })),
          on: { failure: 'mend' },
        }),
        task('mend', { on: { success: 'ship' } }),
        { concurrency: 2 },
      ),
    )
    const find = (items: readonly string[], hash: number): void => {
      const { state } = journal
      const { visit } = state.tasks.get(name('fix/items'))!
      const definition = bindItems(state.definition, name('fix'), items)
      const one = { task: name('fix/items'), visit, from: state.hash, items, definition, hash: numberedSha(hash) }
      journal.turn({ expanded: [one] })
    }
    journal.succeed('scan', { outputs: { files: ['a', 'b', 'c'] } })
    find(['a', 'b', 'c'], 30)
    for (const one of ['fix/1', 'fix/2', 'fix/3']) journal.succeed(one)
    journal.succeed('fix', { outputs: { items: [] } })
    journal.must({ type: 'retry', task: name('scan') })
    journal.turn()
    journal.succeed('scan', { outputs: { files: ['d'] } })
    find(['d'], 31)
    for (const one of ['fix/1', 'fix', 'test/1', 'test/2', 'test/3', 'test/4', 'test', 'ship/build'])
      journal.succeed(one)
    journal.must({ type: 'claim', token: 'k1', by: 'agent:one' })
    const failure = { class: 'logic', message: 'nobody listens', retryable: false } as const
    journal.must({
      type: 'report',
      task: name('ship/announce'),
      by: 'agent:one',
      result: { status: 'failed', failure },
    })
    journal.turn()
    journal.succeed('mend')
    journal.succeed('ship/build')
    journal.must({ type: 'report', task: name('ship/announce'), by: 'ana', result: succeeded() })
    journal.turn()
    journal.succeed('ship')
    return journal
  },
  'brought-along': () => {
    const modes = [
      { name: 'no-disk', detect: { type: 'expect', expression: 'exit == 28' }, recover: [name('clean')] },
      { name: 'odd', detect: { type: 'prose', text: 'it smells' }, advice: 'open a window' },
    ] as const
    const preconditions = [
      { type: 'expect', expression: 'memory.has_space >= 1000' },
      { type: 'prose', text: 'the old server is off' },
    ] as const
    const journal = new Journal()
    journal.must({
      type: 'create',
      plan: numberedPlanId(1),
      definition: plan(
        'brought-along',
        task('design'),
        external('draft', { needs: ['design'] }),
        task('move', { needs: ['draft'], preconditions, failureModes: modes, effect: 'idempotent' }),
        task('clean', { on: { success: 'move' } }),
        task('old', { optional: true }),
      ),
      hash: numberedSha(1),
      source: { dialect: 'agent-markdown', text: '# Plan: brought along\n\n- [x] design\n- [ ] draft\n' },
      imported: [
        { task: name('design'), status: 'completed' },
        { task: name('draft'), status: 'skipped' },
        { task: name('old'), status: 'abandoned' },
      ],
    })
    journal.must({ type: 'start' })
    journal.clock.advance(1_000)
    const met = [
      { criterion: 'memory.has_space >= 1000', holds: true },
      { criterion: 'the old server is off', holds: null },
    ]
    journal.prepare('move', { preconditions: met })
    journal.must({ type: 'decide', task: name('move'), verdict: 'approved', rationale: 'I pulled the plug' })
    journal.prepare('move', { preconditions: met })
    const failure = { class: 'logic', message: 'exit 28', retryable: false } as const
    journal.settle('move', { status: 'failed', failure, exit: 28, mode: 'no-disk' })
    journal.succeed('clean')
    journal.prepare('move', { preconditions: met })
    journal.must({ type: 'decide', task: name('move'), verdict: 'approved', rationale: 'still off' })
    journal.prepare('move', { preconditions: met })
    journal.succeed('move')
    return journal
  },
}

if (process.env.UPDATE_GOLDEN === '1') {
  for (const [title, run] of Object.entries(scenarios)) {
    if (existsSync(`${FOLDER}${title}.jsonl`)) continue
    const { entries, state } = run()
    writeFileSync(`${FOLDER}${title}.jsonl`, entries.map(entry => `${JSON.stringify(entry)}\n`).join(''))
    writeFileSync(`${FOLDER}${title}.state.json`, `${JSON.stringify(packFold(state), null, 2)}\n`)
  }
}

const titles = readdirSync(FOLDER)
  .filter(file => file.endsWith('.jsonl'))
  .map(file => file.slice(0, -'.jsonl'.length))
const read = (title: string): readonly JournalEntry[] =>
  readFileSync(`${FOLDER}${title}.jsonl`, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as JournalEntry)

describe('the golden journals', () => {
  it('are there for every scenario', () => {
    expect(Object.keys(scenarios).filter(title => !titles.includes(title))).toEqual([])
  })

  it.each(titles)('%s folds to the state it had', title => {
    const state = newState()
    for (const { version, now, events } of read(title)) {
      for (const event of events) evolve(state, event, now)
      state.version = version
    }
    expect(JSON.parse(JSON.stringify(packFold(state)))).toEqual(
      JSON.parse(readFileSync(`${FOLDER}${title}.state.json`, 'utf8')),
    )
  })

  it.each(titles)('%s is decided as it was, entry by entry', title => {
    const state = newState()
    for (const { version, now, command, events } of read(title)) {
      expect({ version, decision: decide(state, command, now) }).toEqual({ version, decision: { ok: true, events } })
      state.version = version
    }
  })

  it('hold every type of event', () => {
    const seen = new Set(titles.flatMap(title => read(title).flatMap(({ events }) => events.map(event => event.type))))
    const all: Readonly<Record<EventType, true>> = {
      'plan.created': true,
      'plan.revised': true,
      'plan.started': true,
      'task.imported': true,
      'plan.paused': true,
      'plan.resumed': true,
      'plan.cancelled': true,
      'plan.finished': true,
      'plan.reopened': true,
      'plan.archived': true,
      'task.readied': true,
      'task.skipped': true,
      'task.blocked': true,
      'task.unblocked': true,
      'task.abandoned': true,
      'task.failed': true,
      'task.reopened': true,
      'task.routed': true,
      'attempt.started': true,
      'attempt.succeeded': true,
      'attempt.failed': true,
      'attempt.lost': true,
      'attempt.parked': true,
      'retry.scheduled': true,
      'gate.opened': true,
      'gate.decided': true,
      'criterion.judged': true,
      'workspace.restored': true,
      'compensation.started': true,
      'compensation.finished': true,
      'note.added': true,
    }
    expect(Object.keys(all).filter(type => !seen.has(type as EventType))).toEqual([])
  })
})
