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
  START,
  succeeded,
  task,
} from '../testing/index.ts'
import type { Command, CommandOf, Decide, RollbackOutcome } from './command.ts'
import { decide } from './decide.ts'
import type { EventType, GateQuestion, GateVerdict } from './event.ts'
import type { CheckpointName, PlanName } from './id.ts'
import { NETWORK_FORM } from './network-decision.ts'
import type { PlanDefinition } from './plan.ts'
import { bindItems } from './plan-rules/for-each.ts'
import type { Prepared } from './result.ts'
import { meaningOf } from './rollback/rollback-plan.ts'
import { evolve } from './state/evolve.ts'
import { newState, packFold } from './state/fold.ts'
import { sentence } from './views/timeline.ts'

const FOLDER = fileURLToPath(new URL('../../test/fixtures/journals/', import.meta.url))
const undo = { type: 'run', command: { argv: ['git', 'push', 'origin', '--delete', 'x'] } } as const
const retry = { attempts: 3, backoffMs: { min: 1_000, max: 30_000 } }

/** A journal in which every entry is a second after the one before. */
function begin(definition: PlanDefinition, start: CommandOf<'start'> = START): Journal {
  const journal = new Journal()
  const submit = journal.submit.bind(journal)
  journal.submit = (command, actor) => {
    journal.clock.advance(1_000)
    return submit(command, actor)
  }
  journal.create(definition)
  journal.must(start)
  journal.turn()
  return journal
}

/** What the engine asks for when somebody wants to go to an entry. */
function goTo(journal: Journal, to: number, more: Partial<CommandOf<'rollback'>> = {}): void {
  const { entries, state, clock } = journal
  const meaning = meaningOf(entries, state, to)
  journal.must({ type: 'rollback', id: `r${to}`, at: clock.now(), kind: 'rollback', to, ...meaning, ...more })
}

function wentBack(journal: Journal, outcome: RollbackOutcome): void {
  journal.turn({ rolledBack: { id: journal.state.rollback!.id, outcome } })
}

const beforeLast = ({ entries }: Journal): number =>
  entries.findLast(({ events }) => events.some(({ type }) => type === 'rollback.started'))!.version - 1

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
    journal.ask('review')
    journal.must({ type: 'decide', task: name('review'), verdict: 'rejected', rationale: 'names', by: 'ana' })
    journal.turn()
    journal.prepare('core', { preimage: numberedSha(14), inputHash: numberedSha(15) })
    journal.succeed('core')
    journal.prepare('lint', { when: false })
    journal.ask('review', { binds: { ship: numberedSha(16) } })
    journal.must({ type: 'decide', task: name('review'), verdict: 'approved', rationale: 'good', by: 'ana' })
    journal.prepare('ship', { consent: { from: journal.state.hash, hash: numberedSha(16) } })
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
    journal.must({ type: 'recover', reason: 'the process running it died' })
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
    journal.must({ type: 'recover', reason: 'the process running it died' })
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
    journal.must({ type: 'retry', task: name('b'), reason: 'new numbers', repeat: true })
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
    journal.must(START)
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
  'back-and-forth': () => {
    const journal = begin(
      plan(
        'back-and-forth',
        edit('write', 'src/core.ts', { visits: 2 }),
        task('push', { needs: ['write'], effect: 'idempotent', compensate: undo, retry }),
        task('check', { needs: ['push'], effect: 'pure', on: { failure: 'write' } }),
        external('review', { needs: ['check'] }),
        gate('ship', { needs: ['review'] }),
        task('mark', { needs: ['ship'], action: { type: 'checkpoint', name: 'shipped' } }),
        task('drop', { needs: ['mark'], risks: ['drops a table'] }),
        {
          git: { commits: 'task' },
          done: [{ type: 'expect', expression: 'true' }],
          policy: { onFailure: 'keep', checkpoints: { every: 3 } },
        },
      ),
      { ...START, files: 'seen' },
    )
    const wrote = (number: number) => ({ wrote: { changes: numberedSha(number), paths: 1 } })
    const ref = 'refs/heads/plan/back-and-forth'
    const commit = (visit: number, before: string | null, after: string): void => {
      const operation = { type: 'commit.created', plan: numberedPlanId(1), ref, before, after, at: 1 } as const
      journal.turn({ committed: [{ task: name('write'), visit, operations: [operation] }] })
    }
    const standing = {
      snapshot: numberedSha(50),
      files: 3,
      left: 1,
      git: { head: 'c0', branch: 'main', index: 't0', dirty: 2 },
      about: 'planfold 0.1.0',
    }
    const path = '.planfold/places/1'
    journal.must({
      type: 'place',
      operations: [{ type: 'worktree.added', plan: numberedPlanId(1), path, ref, commit: 'c0', at: 1 }],
    })
    journal.prepare('write', { preimage: numberedSha(40) })
    journal.succeed('write', wrote(41))
    commit(1, null, 'c1')
    const written = journal.state.version
    journal.prepare('push', { before: numberedSha(42) })
    journal.succeed('push', { wrote: { changes: null, paths: 0, snapshot: numberedSha(43), left: 2 } })
    journal.fail('check')
    journal.prepare('write', { preimage: numberedSha(44) })
    journal.succeed('write', wrote(45))
    commit(2, 'c1', 'c2')
    journal.prepare('push', { unwatched: 'too many files', checkpoint: standing })
    journal.must({ type: 'checkpoint', name: 'by-hand' as CheckpointName, standing: { lacks: 'no disk' } })
    journal.succeed('push')
    // It cannot go back before somebody has chosen.
    goTo(journal, written, { checkpoint: 'cp-write-20260101T000005000Z' as CheckpointName, reason: 'wrong way' })
    journal.settle('check', interrupted('rolled back'))
    journal.turn({ compensated: [{ task: name('push'), result: failed({ retryable: true, class: 'transient' }) }] })
    journal.clock.advance(30_000)
    journal.turn()
    journal.must({ type: 'recover', reason: 'the process running it died' })
    goTo(journal, written, { force: true, choices: { 'src/core.ts': 'merge' }, every: 'take' })
    journal.turn()
    journal.turn({ compensated: [{ task: name('push'), result: succeeded() }] })
    const failure = { class: 'policy', message: 'somebody has worked on src/core.ts', retryable: false } as const
    wentBack(journal, { changes: null, paths: 0, failure, conflicts: ['src/core.ts'] })
    goTo(journal, written)
    wentBack(journal, {
      changes: numberedSha(60),
      paths: 1,
      saved: numberedSha(61),
      left: [{ path: 'dev', reason: 'a device' }],
      kept: [{ path: 'src/core.ts', sha256: numberedSha(62) }],
      git: [{ type: 'branch.moved', plan: numberedPlanId(1), ref, before: 'c2', after: 'c1', backup: 'b', at: 2 }],
    })
    journal.must({ type: 'resume' })
    journal.prepare('push', { before: numberedSha(63) })
    journal.succeed('push')
    journal.succeed('check')
    journal.must({ type: 'claim', token: 'k1', by: 'ana', prepared: { before: numberedSha(64) } })
    goTo(journal, journal.state.version - 1, { keepGit: true })
    wentBack(journal, { changes: null, paths: 0 })
    journal.must({ type: 'resume' })
    journal.must({ type: 'report', task: name('review'), by: 'ana', result: succeeded() })
    journal.ask('ship')
    journal.must({ type: 'decide', task: name('ship'), verdict: 'approved', rationale: 'go', by: 'ana' })
    journal.turn()
    journal.succeed('mark', { checkpoint: standing })
    journal.prepare('drop', { before: numberedSha(65), checkpoint: standing })
    journal.succeed('drop')
    journal.succeed('done')
    goTo(journal, 3, { filesOnly: true, resets: [], compensate: [], paths: ['src'] })
    wentBack(journal, { changes: numberedSha(66), paths: 1 })
    // Back to the beginning, forward to the end, and once more.
    for (const again of [numberedSha(67), numberedSha(68), numberedSha(69)]) {
      if (journal.state.status === 'completed' && again === numberedSha(67)) goTo(journal, 2)
      else goTo(journal, beforeLast(journal), { kind: 'undo' })
      journal.turn()
      journal.turn({ compensated: [{ task: name('push'), result: succeeded() }] })
      wentBack(journal, { changes: again, paths: 1 })
    }
    return journal
  },
  saga: () => {
    const journal = begin(
      plan(
        'saga',
        task('book', { effect: 'idempotent', compensate: { type: 'task', task: name('unbook') } }),
        task('pay', { needs: ['book'], effect: 'idempotent', compensate: undo }),
        task('travel', { needs: ['pay'], effect: 'pure' }),
        task('unbook', { effect: 'idempotent', retry }),
      ),
    )
    const undone = (one: string, result = succeeded()) => ({ compensated: [{ task: name(one), result }] })
    journal.succeed('book')
    journal.succeed('pay')
    journal.fail('travel')
    journal.turn()
    journal.turn(undone('pay'))
    journal.turn(undone('book', failed({ retryable: true, message: 'busy' }) as never))
    journal.clock.advance(30_000)
    journal.turn()
    journal.turn(undone('book'))
    journal.must({ type: 'retry', task: name('travel') })
    journal.turn()
    for (const one of ['book', 'pay', 'travel']) journal.succeed(one)
    return journal
  },
  judgement: () => {
    const journal = begin(
      plan(
        'judgement',
        task('fetch', { capabilities: ['net'], effect: 'pure', retry: { ...retry, attempts: 4 } }),
        task('build', {
          needs: ['fetch'],
          effect: 'pure',
          recover: [
            { on: ['logic'], do: { type: 'repair', task: name('mend') } },
            { do: { type: 'alternate', task: name('other-way') } },
          ],
        }),
        task('mend', { effect: 'pure' }),
        task('other-way', { effect: 'pure' }),
        task('review', {
          needs: ['build'],
          action: { type: 'gate', gate: 'approval', approvers: { role: 'release', count: 2 } },
        }),
        task('push', { needs: ['review'], action: { type: 'run', command: { argv: ['git', 'push'] } } }),
        task('which', {
          needs: ['fetch'],
          action: { type: 'gate', gate: 'decision', options: [{ id: 'a' }, { id: 'b' }] },
        }),
        task('late', {
          needs: ['fetch'],
          optional: true,
          action: { type: 'gate', gate: 'approval', expiresMs: 60_000, escalate: { afterMs: 30_000, to: 'lead' } },
        }),
        {
          policy: {
            roles: { release: ['ana', 'bo'], lead: ['cy'] },
            breaker: { failures: 2, cooldownMs: 5_000 },
          },
          done: [{ type: 'expect', expression: 'true' }],
        },
      ),
    )
    const ask = (one: string, question: GateQuestion, prepared: Prepared = {}, voids?: string): void => {
      const { visit } = journal.state.tasks.get(name(one))!
      const said = { question, ...(voids === undefined ? {} : { voids }) }
      journal.turn({
        prepared: [{ task: name(one), visit, prepared }],
        gates: [{ task: name(one), visit, from: journal.state.hash, ...said }],
      })
    }
    const approval: GateQuestion = {
      asks: { type: 'approval', show: [], approvers: { role: 'release', count: 2 } },
      hash: numberedSha(30),
      shown: numberedSha(31),
      binds: { push: numberedSha(32) },
    }
    const decide = (one: string, verdict: GateVerdict, by: string, more: Partial<Decide> = {}): void => {
      journal.must({ type: 'decide', task: name(one), verdict, rationale: `${by} says so`, by, ...more })
    }
    journal.must({ type: 'ask', id: 'q1', text: 'Which?', form: [{ name: 'n', type: 'number' }], by: 'bot' })
    for (let failures = 0; failures < 2; failures++) {
      journal.fail('fetch', { class: 'transient', retryable: true, code: 'http:503', retryAfterMs: 2_000 })
      journal.clock.advance(40_000)
      journal.turn()
    }
    journal.succeed('fetch')
    journal.must({ type: 'answer', id: 'q1', answers: { n: 2 }, by: 'ana' })
    ask('which', { asks: { type: 'decision', options: [{ id: 'a' }, { id: 'b' }] }, hash: numberedSha(33) })
    ask('late', { asks: { type: 'approval', show: [] }, hash: numberedSha(34) })
    decide('which', 'chosen', 'ana', { option: 'b' })
    journal.fail('build', { class: 'logic', retryable: false })
    journal.turn()
    journal.succeed('mend')
    journal.fail('build', { class: 'logic', retryable: false })
    journal.turn()
    journal.succeed('other-way', { outputs: { way: 'other' } })
    ask('review', approval)
    decide('review', 'approved', 'ana')
    decide('review', 'pushed-back', 'bo', { to: name('build') })
    journal.turn()
    journal.succeed('build')
    ask('review', approval)
    decide('review', 'approved', 'ana', { hash: numberedSha(30) })
    decide('review', 'approved', 'bo', { hash: numberedSha(30) })
    const found = (number: number) => ({ from: journal.state.hash, hash: numberedSha(number) })
    ask(
      'push',
      {
        asks: { type: 'consent', impact: 'push', why: 'it pushes' },
        hash: numberedSha(35),
        shown: numberedSha(36),
        binds: { push: numberedSha(35) },
      },
      { consent: found(35) },
      'its script changed',
    )
    journal.clock.advance(120_000)
    journal.turn()
    decide('push', 'approved', 'bo', { hash: numberedSha(35), until: journal.clock.now() + 90_000 })
    journal.prepare('push', { consent: found(35) })
    const other = plan('judgement', ...journal.state.definition.tasks, { ...journal.state.definition, title: 'Better' })
    const made = { definition: other, hash: numberedSha(40), base: journal.state.hash, rationale: 'better', by: 'bot' }
    journal.must({ type: 'propose', id: 'p1', ...made })
    journal.must({ type: 'judge', id: 'p1', hash: made.hash, verdict: 'declined', rationale: 'no', by: 'ana' })
    journal.must({ type: 'propose', id: 'p2', ...made, hash: numberedSha(41) })
    journal.must({ type: 'judge', id: 'p2', hash: numberedSha(41), verdict: 'accepted', rationale: 'yes', by: 'ana' })
    journal.must({ type: 'assess', round: 1, verdicts: [{ criterion: 'true', holds: true }] })
    journal.turn({ notices: [{ id: '7.0', kind: 'waiting', to: 'hook' }] })
    journal.succeed('push')
    journal.succeed('done')
    return journal
  },
  'given-up': () => {
    const journal = begin(
      plan(
        'given-up',
        task('book', { effect: 'idempotent', compensate: undo }),
        task('try', { needs: ['book'], effect: 'pure', recover: [{ do: { type: 'abort', with: 'rollback' } }] }),
        task('beside', { effect: 'pure' }),
        task('after', { needs: ['beside'] }),
      ),
    )
    journal.succeed('book')
    journal.must({ type: 'pause', reason: 'halted by bo', force: true })
    journal.settle('beside', interrupted('halted'))
    journal.must({ type: 'resume' })
    journal.turn()
    journal.fail('try', { class: 'logic', retryable: false })
    journal.settle('beside', interrupted('given up'))
    journal.turn()
    journal.turn({ compensated: [{ task: name('book'), result: succeeded() }] })
    if (journal.state.rollback !== null) wentBack(journal, { changes: numberedSha(70), paths: 2 })
    return journal
  },
  drafted: () => {
    const journal = new Journal()
    const next = (command: Command) => {
      journal.clock.advance(1_000)
      journal.must(command)
    }
    const ana = { by: 'ana' } as const
    journal.create({ name: 'drafted' as PlanName, tasks: [] })
    const first = external('first', { extra: { sequence_order: 1 } })
    next({ type: 'add', tasks: [first] })
    next({ type: 'add', tasks: [external('second', { needs: ['first'] }), external('third')] })
    next({ type: 'annotate', set: { current_step: 0, note: 'x' }, ...ana })
    next({ type: 'annotate', set: { started_at: '2026-01-01T00:00:00Z' }, task: name('first'), ...ana })
    const sealed = journal.state.definition
    next({ type: 'revise', definition: sealed, hash: numberedSha(2), rationale: '3 tasks, added one by one' })
    next({ type: 'add', tasks: [external('fourth', { needs: ['third'] })] })
    const again = journal.state.definition
    next({ type: 'revise', definition: again, hash: numberedSha(3), rationale: '4 tasks, added one by one' })
    next(START)
    next({ type: 'claim', task: name('first'), token: 'k1', by: 'bo', alone: true })
    next({ type: 'report', task: name('first'), token: 'k1', by: 'bo', result: succeeded({ outputs: { n: 1 } }) })
    next({ type: 'evaluate', task: name('first'), id: 'e1', score: 0.75, passed: true, data: { by: 'eye' }, ...ana })
    next({ type: 'claim', task: name('third'), token: 'k2', ...ana })
    next({ type: 'annotate', set: { note: null, current_step: 2 }, ...ana })
    next({ type: 'finish', as: 'completed', reason: 'good enough', ...ana })
    return journal
  },
  adopted: () => {
    const journal = new Journal()
    const adopt = (fork: number, id: string): CommandOf<'rollback'> => ({
      type: 'rollback',
      id,
      at: 50,
      kind: 'adopt',
      to: journal.state.version,
      resets: [],
      compensate: [],
      filesOnly: true,
      keepGit: true,
      adopts: {
        fork: numberedPlanId(fork),
        name: `try-${fork}` as PlanName,
        changes: numberedSha(80 + fork),
        snapshot: numberedSha(90 + fork),
      },
    })
    const failure = { class: 'logic', message: 'somebody has worked there', retryable: false } as const
    journal.create({ name: 'adopted' as PlanName, tasks: [external('a'), external('b', { needs: ['a'] })] })
    journal.must({ ...START, files: 'seen' })
    journal.must({ type: 'claim', task: name('a'), token: 'k1', by: 'bo' })
    journal.must({ type: 'report', task: name('a'), token: 'k1', by: 'bo', result: succeeded() })
    journal.must({ type: 'pause', reason: 'somebody looks' })
    journal.must(adopt(2, 'r2'))
    wentBack(journal, { changes: numberedSha(72), paths: 3, left: [{ path: 'x', reason: 'kept: edited since' }] })
    journal.must({ type: 'resume' })
    journal.must({ type: 'claim', task: name('b'), token: 'k2', by: 'bo' })
    journal.must({ type: 'report', task: name('b'), token: 'k2', by: 'bo', result: succeeded() })
    journal.must(adopt(3, 'r3'))
    wentBack(journal, { changes: null, paths: 0, failure, conflicts: ['y'] })
    const standing = { snapshot: numberedSha(95), files: 2 }
    journal.must({ type: 'checkpoint', name: 'cp-end' as CheckpointName, standing, why: 'ended' })
    journal.must({
      type: 'adopted',
      into: numberedPlanId(9),
      name: 'above' as PlanName,
      version: 12,
      folder: 'kept',
      why: 'x',
    })
    return journal
  },
  'said-to-fail': () => {
    const journal = new Journal()
    journal.create({ name: 'said-to-fail' as PlanName, tasks: [] })
    journal.must({ type: 'add', tasks: [external('a'), external('b', { needs: ['a'] })] })
    const { definition } = journal.state
    journal.must({ type: 'revise', definition, hash: numberedSha(2), rationale: '2 tasks, added one by one' })
    journal.must({ type: 'finish', as: 'failed', reason: 'nobody wants it', by: 'ana', start: { rules: START.rules } })
    return journal
  },

  uploads: () => {
    const journal = begin(plan('uploads', external('write', { outputs: { notes: { from: 'report' } } })))
    const part = { type: 'upload', task: name('write'), token: 't1', name: 'notes', bytes: 6 } as const
    journal.must({ type: 'claim', token: 't1', by: 'bo' })
    journal.must({ ...part, sha256: numberedSha(10), from: 0, part: numberedSha(11), partBytes: 4 })
    journal.must({ type: 'lapse', task: name('write'), token: 't1', reason: 'no heartbeat' })
    journal.must({ type: 'claim', token: 't1', by: 'bo' })
    journal.must({ ...part, sha256: numberedSha(10), from: 0, part: numberedSha(11), partBytes: 4 })
    journal.must({ ...part, sha256: numberedSha(10), from: 4, part: numberedSha(12), partBytes: 2 })
    journal.must({ ...part, name: 'more', sha256: numberedSha(13), from: 0, part: numberedSha(14), partBytes: 3 })
    const outputs = { notes: { artifact: numberedSha(10), bytes: 6 } }
    journal.must({
      type: 'report',
      task: name('write'),
      token: 't1',
      by: 'bo',
      result: { status: 'succeeded', outputs },
    })
    return journal
  },

  'edits-and-restore': () => {
    const journal = new Journal()
    const build = task('build', {
      write: ['src/**'],
      network: [],
      retry: { attempts: 3, backoffMs: { min: 0, max: 0 } },
    })
    journal.must({
      type: 'create',
      plan: numberedPlanId(1),
      definition: plan('edited', build, { recovery: { edits: 'wait' } }),
      hash: numberedSha(1),
    })
    journal.must(START)
    const prepared = (made: Prepared) =>
      journal.must({ type: 'turn', prepared: [{ task: name('build'), visit: 1, prepared: made }] })
    prepared({ preimage: numberedSha(2) })
    journal.must({ type: 'recover', reason: 'the process running it died', lastSign: 1_000 })
    prepared({ edits: { shown: numberedSha(3), paths: ['src/mine.txt', 'src/b.txt'] } })
    journal.must({
      type: 'decide',
      task: name('build'),
      verdict: 'chosen',
      option: 'keep',
      choices: { 'src/b.txt': 'take' },
      rationale: 'mine is right',
      by: 'ana',
      hash: numberedSha(3),
    })
    journal.must({
      type: 'turn',
      restored: [
        {
          task: name('build'),
          to: numberedSha(4),
          saved: numberedSha(5),
          files: ['src/b.txt', 'src/out.txt'],
          kept: ['src/mine.txt'],
        },
      ],
      prepared: [{ task: name('build'), visit: 1, prepared: { preimage: numberedSha(4) } }],
    })
    journal.must({
      type: 'restore',
      changes: numberedSha(6),
      saved: numberedSha(7),
      paths: 1,
      files: ['src/b.txt'],
      by: 'ana',
    })
    journal.must({
      type: 'turn',
      settled: [{ task: name('build'), visit: 1, attempt: 2, result: { status: 'succeeded' } }],
    })
    return journal
  },
  'fix-and-go-on': () => {
    const definition = plan(
      'fix-and-go-on',
      external('write', { accept: [{ type: 'expect', expression: 'outputs.tests >= 10' }] }),
      task('test', { needs: ['write'] }),
      task('ship', { needs: ['test'] }),
    )
    const journal = begin(definition)
    const write = { task: name('write'), token: 't-1', by: 'ana' }
    journal.must({ type: 'claim', ...write })
    const verdicts = [{ criterion: 'outputs.tests >= 10', holds: false, evidence: 'outputs.tests is 3' }]
    const message = "not accepted: 'outputs.tests >= 10' does not hold (outputs.tests is 3)"
    journal.must({
      type: 'report',
      ...write,
      held: true,
      unaccepted: true,
      result: { ...failed({ message, retryable: true }), verdicts },
    })
    journal.must({ type: 'report', ...write, held: true, result: succeeded({ outputs: { tests: 12 } }) })
    journal.turn()
    journal.fail('test')
    const mended = task('test', { needs: ['write'], action: { type: 'run', command: { argv: ['make', 'test'] } } })
    const next = { ...definition, tasks: definition.tasks.with(1, mended) }
    const goOn = { type: 'revise', rationale: 'run plan.yaml', goOn: 'refuse' } as const
    journal.must({ ...goOn, definition: next, hash: numberedSha(2) })
    journal.turn()
    journal.fail('test')
    journal.must({ ...goOn, definition: next, hash: numberedSha(2) })
    journal.turn()
    journal.succeed('test')
    journal.succeed('ship')
    return journal
  },
  'asked-addresses': () => {
    const network = { allow: ['git.example.com'], unknown: 'ask' } as const
    const journal = begin(plan('asked-addresses', task('fetch', { network }), task('more', { network })), {
      ...START,
      sandbox: 'preferred',
      asks: 'n1',
    })
    journal.must({ type: 'answer', id: 'n1', answers: { run: 'yes' }, by: 'ana' })
    journal.turn()
    const ask = (id: string, of: string, host: string): void => {
      const asked = { rule: `https://${host}`, host, port: 443 }
      const text = `task '${of}' asks for ${host}:443`
      journal.must({ type: 'ask', id, text, form: NETWORK_FORM, task: name(of), by: 'planfold', network: asked })
    }
    const told = { type: 'network', task: name('fetch'), visit: 1, attempt: 1 } as const
    const allowed = { host: 'git.example.com', port: 443, method: 'CONNECT', allowed: true, why: 'a rule allows it' }
    journal.must({ ...told, decisions: [{ ...allowed, rule: 'git.example.com', count: 1 }] })
    ask('q1', 'fetch', 'a.example')
    ask('q2', 'fetch', 'b.example')
    ask('q3', 'more', 'c.example')
    journal.must({ type: 'answer', id: 'q1', answers: { allow: 'task' }, by: 'ana' })
    journal.must({ type: 'answer', id: 'q2', answers: { allow: 'no' }, by: 'ana' })
    const refused = { host: 'b.example', port: 443, method: 'CONNECT', allowed: false, why: 'said no' }
    journal.must({ ...told, decisions: [{ ...refused, allowWith: 'https://b.example', count: 12 }], more: 3 })
    journal.succeed('fetch')
    journal.must({ type: 'answer', id: 'q3', answers: { allow: 'plan' }, by: 'ana' })
    journal.succeed('more')
    return journal
  },
  'asked-for-more': () => {
    const budget = { cost: { amount: 1, currency: 'USD' }, attempts: 3, outputBytes: 1_000_000, timeMs: 60_000 }
    const ask = task('ask', { effect: 'model' })
    const journal = begin(plan('asked-for-more', ask, task('then', { needs: ['ask'] }), { policy: { budget } }), {
      ...START,
      budget: 'kept',
    })
    const call = { task: name('ask'), visit: 1, attempt: 1 } as const
    journal.must({ type: 'reserve', ...call, id: 'c1', spend: { cost: 0.75, tokens: 900, calls: 1 } })
    journal.must({ type: 'settle', id: 'c1', actual: { cost: 0.5, tokens: 600, calls: 1 } })
    journal.must({ type: 'reserve', ...call, id: 'c2', spend: { cost: 0.75, tokens: 900, calls: 1 } })
    journal.must({ type: 'raise', add: { cost: 1 }, by: 'ana' })
    journal.must({ type: 'reserve', ...call, id: 'c2', spend: { cost: 0.75, tokens: 900, calls: 1 } })
    journal.must({ type: 'recover', reason: 'the process running it died', lastSign: journal.clock.now() })
    journal.turn()
    const again = { ...call, attempt: 2 }
    journal.must({ type: 'reserve', ...again, id: 'c3', spend: { cost: null, calls: 1 } })
    const asked = (more: string) =>
      journal.must({ type: 'answer', id: journal.state.questions[0]!.id, answers: { more }, by: 'ana' })
    asked('yes')
    journal.must({ type: 'reserve', ...again, id: 'c3', spend: { cost: null, calls: 1 } })
    journal.must({ type: 'settle', id: 'c3', actual: { cost: null, calls: 1 } })
    journal.must({ type: 'reserve', ...again, id: 'c4', spend: { cost: 9, calls: 1 } })
    asked('no')
    journal.must({ type: 'resume' })
    journal.succeed('ask', { durationMs: 2_000, log: { sha256: numberedSha(9), bytes: 120 } })
    journal.must({ type: 'raise', add: { attempts: 1 }, by: 'ana' })
    journal.succeed('then', { durationMs: 1_000 })
    return journal
  },
  'lost-output': () => {
    const outputs = { report: { from: 'file', file: 'report.json' } } as const
    const scope = { write: ['report.json'], network: [], outputs }
    const definition = plan('lost-output', task('make', scope), task('use', { needs: ['make'] }), {
      recovery: { outputs: 'remake' },
    })
    const journal = begin(definition)
    journal.prepare('make', { preimage: numberedSha(7) })
    journal.succeed('make', { outputs: { report: { tests: 3 } } })
    const lost = { task: name('make'), visit: 1, output: 'report', file: 'report.json' } as const
    journal.settle('use', interrupted())
    journal.must({ type: 'decide', task: name('use'), verdict: 'again', rationale: 'it did not happen' })
    journal.must({ type: 'recover', reason: 'stopped', lost: [{ ...lost, what: 'changed' }] })
    journal.must({ type: 'recover', reason: 'stopped', lost: [{ ...lost, what: 'missing' }] })
    journal.prepare('make', { preimage: numberedSha(7) })
    journal.succeed('make', { outputs: { report: { tests: 4 } } })
    journal.must({ type: 'recover', reason: 'stopped', lost: [] })
    journal.succeed('use')
    return journal
  },
  race: () => {
    const scope = { write: ['src/**'], network: [] } as const
    const definition = plan('race', task('mend', { ...scope, tries: { with: 2, rounds: 2, judge: { by: 'model' } } }))
    const journal = begin(definition)
    journal.prepare('mend', { preimage: numberedSha(7) })
    const of = { type: 'race', task: name('mend'), visit: 1, attempt: 1 } as const
    const changed = (sha: number, lines: number) => ({ changes: numberedSha(sha), paths: 1, lines })
    const left = { tries: 1, why: '3 tries would cost about 3 USD, and 2 USD of the budget is left' }
    journal.must({ ...of, step: { is: 'began', round: 1, start: numberedSha(1), of: ['run', 'run'], left } })
    const reason = 'check failed: npm test (exit 1)'
    journal.must({
      ...of,
      step: { is: 'tried', round: 1, number: 2, by: 'run', ended: 'failed', reason, ...changed(2, 4) },
    })
    journal.must({ ...of, step: { is: 'tried', round: 1, number: 1, by: 'run', ended: 'passed', ...changed(3, 9) } })
    const best = { round: 1, number: 1 }
    const judge = { by: 'local/model-3', best, says: 'it is the clearest', improve: 'the name is misspelt' }
    journal.must({ ...of, step: { is: 'judged', judge } })
    const second = { round: 2, start: numberedSha(1), of: ['run', 'run'], from: best } as const
    journal.must({ ...of, step: { is: 'began', ...second, findings: judge.improve } })
    journal.must({ ...of, step: { is: 'tried', round: 2, number: 1, by: 'run', ended: 'stopped', ...changed(4, 9) } })
    journal.settle('mend', interrupted())
    journal.prepare('mend', { preimage: numberedSha(7) })
    const again = { ...of, attempt: 2 } as const
    journal.must({ ...again, step: { is: 'tried', round: 2, number: 2, by: 'run', ended: 'passed', ...changed(5, 8) } })
    journal.must({ ...again, step: { is: 'judged' } })
    journal.must({ ...again, step: { is: 'applied', saved: numberedSha(6), overwrote: ['src/a.js'] } })
    journal.succeed('mend')
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
    const golden: unknown = JSON.parse(readFileSync(`${FOLDER}${title}.state.json`, 'utf8'))
    expect(JSON.parse(JSON.stringify(packFold(state)))).toEqual(golden)
  })

  it.each(titles)('%s is decided as it was, entry by entry', title => {
    const state = newState()
    for (const { version, now, command, events } of read(title)) {
      expect({ version, decision: decide(state, command, now) }).toEqual({ version, decision: { ok: true, events } })
      state.version = version
    }
  })

  it('hold every type of event, and each is told so', () => {
    const said = new Map<EventType, string[]>()
    for (const event of titles.flatMap(title => read(title).flatMap(({ events }) => events)))
      said.set(event.type, [...(said.get(event.type) ?? []), sentence(event)])
    const told: Readonly<Record<EventType, string>> = {
      'plan.created': 'plan adopted created with 2 tasks',
      'plan.revised': 'revision 2: 3 tasks, added one by one',
      'plan.started': 'plan started',
      'plan.paused': 'plan paused: somebody looks',
      'plan.resumed': 'plan resumed',
      'plan.cancelled': 'cancelling the plan without undo steps: out of time',
      'plan.finished': 'plan completed: all required tasks completed',
      'plan.reopened': 'plan reopened: adopted the work of try-3',
      'plan.compensating': "plan failing: task 'travel' failed: it said no; running undo steps",
      'plan.aborted': "plan aborted: task 'try' failed: it said no",
      'plan.annotated': 'plan annotated by ana: current_step, note',
      'plan.archived': 'plan archived',
      'task.added': 'added: first',
      'task.annotated': 'first annotated by ana: started_at',
      'task.evaluated': 'first evaluated by ana: passed, score 0.75',
      'task.imported': 'imported: design completed, draft skipped, old abandoned',
      'task.readied': 'ready: a',
      'task.skipped': 'slow skipped: no outcome led to it',
      'task.blocked': 'ship is blocked by test',
      'task.unblocked': 'ship is no longer blocked',
      'task.abandoned': 'write cancelled: the plan was cancelled by force',
      'task.failed': "ship failed: 'ship/announce' failed: nobody listens",
      'task.reopened': "write, push, check will run again: 'check' ended with outcome 'failure'",
      'task.substituted': 'build completed: other-way did its work',
      'task.escalated': 'research: claim expired (no heartbeat)',
      'task.routed': 'check failure → write',
      'attempt.started': 'a started, claimed by bo',
      'attempt.succeeded': 'a completed',
      'attempt.failed': 'research failed (attempt 2): it said no',
      'attempt.lost': 'research interrupted: no sign of life',
      'race.began':
        'mend: 2 tries begin (run, run); 1 more try left out: 3 tries would cost about 3 USD, and 2 USD of the budget is left',
      'race.tried': 'mend: try 2 (run) failed: check failed: npm test (exit 1) (1 path, 4 lines)',
      'race.judged': 'mend: try 2-2 is the best: it changed the fewest lines',
      'race.applied':
        'mend: the changes of the best try go into the workspace; edits of src/a.js are replaced and backed up',
      'report.refused':
        "report of write not accepted, the claim stays: not accepted: 'outputs.tests >= 10' does not hold (outputs.tests is 3)",
      'artifact.uploaded': 'write: artifact notes uploading, 4 of 6 bytes',
      'outputs.checked': "changed or missing: output 'report' of make (report.json is changed)",
      'attempt.parked': 'push: outcome unknown, needs your decision: the process running it died',
      'retry.scheduled': 'research will be retried',
      'recovery.chosen': 'research: retrying in 1 s (attempt 2 of 3)',
      'breaker.opened': "'net' failed 2 times in a row: tasks that need it wait",
      'breaker.closed': "'net' works again",
      'gate.opened': 'ship waits for approval',
      'gate.voted': 'review approved by ana; more approvals are needed: ana says so',
      'gate.decided': 'ship approved by ana: go',
      'consent.voided': 'push: the approval is no longer valid: its script changed',
      'question.asked':
        'planfold asks: this machine has no sandbox: commands of this plan would run with your permissions. Run them? Or install bubblewrap first (on Linux)',
      'question.answered': 'ana answered question n1: {"run":"yes"}',
      'revision.proposed': 'bot proposes a revision (000000000000): better',
      'revision.declined': 'ana declined the proposed revision p1: no',
      'assessment.made': 'round 1: all final checks passed',
      'notice.sent': 'notified hook: waiting',
      'criterion.judged': 'write: check passed: true',
      'workspace.restored': 'files of core reverted to before core; the previous version is backed up',
      'files.restored': 'src/b.txt restored by ana',
      'compensation.started': 'running the undo step of push',
      'compensation.finished':
        'undo step of push failed: the process running it died; whether the undo step took effect is unknown',
      'compensation.retried': 'undo step of push failed and will be retried: it said no',
      'budget.reserved': 'ask reserved 0.75 USD, 900 tokens, 1 call',
      'budget.settled': 'ask spent 0.5 USD, 600 tokens, 1 call',
      'budget.raised': 'ana added 1 USD to the budget of the plan',
      'network.decided': 'fetch asked for git.example.com:443: allowed by git.example.com',
      'note.added': 'shipped',
      'checkpoint.taken': 'checkpoint cp-end',
      'git.committed': 'write committed',
      'place.made': 'worktree created',
      'fork.adopted': 'adopted into above; its folder was kept: x',
      'rollback.started': 'adopting the work of try-2',
      'rollback.finished': 'rollback finished: 3 paths changed; x not changed: kept: edited since',
      'rollback.stopped': 'rollback stopped: somebody has worked there',
    }
    for (const [type, text] of Object.entries(told)) expect(said.get(type as EventType)).toContain(text)
  })
})
