import { describe, expect, it } from 'vitest'
import {
  decision,
  edit,
  external,
  gate,
  type Journal,
  name,
  numberedPlanId,
  numberedSha,
  plan,
  START,
  started,
  succeeded,
  task,
} from '../../testing/index.ts'
import type { Event, EventOf, EventType } from '../event.ts'
import { plainHint } from '../hint.ts'
import { type CheckpointName, type PlanName, taskId } from '../id.ts'
import { taskOf } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import { board, explain } from './board.ts'

import { planStatus, progress, successRate, summary } from './summary.ts'

import { sentence, timeline } from './timeline.ts'

const why = (journal: Journal, one: string): string =>
  plainHint(explain(journal.state, taskOf(journal.state, name(one)), journal.clock.now()))

describe('summary', () => {
  it('says where a plan stands and what waits for whom', () => {
    const journal = started(
      plan('p', task('a'), task('f', { optional: true }), gate('g'), external('e'), external('later', { when: 'x' }), {
        title: 'T',
        goal: 'G',
        concurrency: 2,
      }),
    )
    const now = journal.clock.now()
    journal.ask('g')
    journal.fail('f')
    expect(summary(journal.state)).toEqual({
      id: numberedPlanId(1),
      name: 'p',
      title: 'T',
      goal: 'G',
      goalId: null,
      session: null,
      agent: null,
      status: 'active',
      reason: null,
      revision: 1,
      version: 5,
      archived: false,
      createdAt: now,
      updatedAt: now,
      startedAt: now,
      endedAt: null,
      annotations: {},
      progress: progress(journal.state),
      running: ['a'],
      waiting: [
        {
          task: 'g',
          asks: { type: 'approval', show: [] },
          since: now,
          hash: numberedSha(7),
          releases: { begins: [], waits: [], more: 0 },
        },
      ],
      failed: [{ task: 'f', reason: 'it said no', handled: false }],
      claimable: 1,
      origin: null,
      place: null,
    })
  })

  it('a plan in which nothing can move until a person decides is blocked', () => {
    const journal = started(plan('p', gate('g'), task('a')))
    journal.ask('g')
    expect(planStatus(journal.state)).toBe('active')
    journal.succeed('a')
    expect(planStatus(journal.state)).toBe('blocked')
    journal.must({ type: 'pause' })
    expect(planStatus(journal.state)).toBe('paused')
  })
})

describe('progress', () => {
  it('regression 29: the success rate is computed from the one vocabulary of statuses', () => {
    const journal = started(
      plan('p', task('a'), task('b', { optional: true }), task('c'), task('d', { when: 'x' }), { concurrency: 9 }),
    )
    expect(progress(journal.state)).toMatchObject({ total: 4, done: 0, ended: 0, ratio: 0, successRate: null })
    journal.succeed('a')
    journal.fail('b')
    journal.prepare('d', { when: false })
    expect(progress(journal.state)).toEqual({
      total: 4,
      done: 2,
      ended: 3,
      ratio: 0.5,
      successRate: 0.5,
      counts: {
        pending: 0,
        ready: 0,
        running: 1,
        waiting: 0,
        blocked: 0,
        completed: 1,
        failed: 1,
        skipped: 1,
        abandoned: 0,
        cancelled: 0,
      },
    })
  })

  it('regression 29: of attempts, those that were lost did not succeed', () => {
    expect(successRate({ succeeded: 1, failed: 0, lost: 1 })).toBe(0.5)
    expect(successRate({ succeeded: 0, failed: 0, lost: 0 })).toBeNull()
  })

  it('regression 2: a plan without tasks has come nowhere', () => {
    expect(progress(newState())).toMatchObject({ total: 0, ratio: 0, successRate: null })
  })
})

describe('board', () => {
  it('shows every task in the order of the document', () => {
    const journal = started(
      plan('p', edit('a', 'f', { title: 'A', kind: 'implement' }), external('b', { needs: ['a'], optional: true })),
    )
    const now = journal.clock.now()
    journal.prepare('a', { preimage: numberedSha(5) })
    journal.clock.advance(2_000)
    journal.succeed('a', { outputs: { n: 1 }, exit: 0 })
    journal.must({ type: 'claim', token: 'k', by: 'ana' })
    const kept = { addedAt: now, annotations: {}, assignee: null }
    const common = { attempt: 1, visit: 1, visits: 1, retryAt: null, reason: null, hint: null, ...kept }
    expect(board(journal.state)).toEqual([
      {
        ...common,
        id: taskId(journal.state.id, 1),
        name: 'a',
        title: 'A',
        kind: 'implement',
        action: 'edit',
        effect: 'workspace',
        runs: null,
        author: 'others',
        status: 'completed',
        optional: false,
        needs: [],
        startedAt: now,
        endedAt: now + 2_000,
        claimedBy: null,
        sequence: 1,
        outputs: { n: 1 },
        exit: 0,
      },
      {
        ...common,
        id: taskId(journal.state.id, 2),
        name: 'b',
        title: null,
        kind: null,
        action: 'external',
        effect: 'model',
        runs: null,
        author: 'others',
        status: 'running',
        optional: true,
        needs: ['a'],
        startedAt: now + 2_000,
        endedAt: null,
        claimedBy: 'ana',
        sequence: 2,
        outputs: null,
        exit: null,
      },
    ])
  })

  it('shows why a task failed and what to do next', () => {
    const journal = started(plan('p', task('a')))
    journal.fail('a', { message: 'no disk', hint: 'make room' })
    expect(board(journal.state)[0]).toMatchObject({ status: 'failed', reason: 'no disk', hint: 'make room' })
  })
})

describe('explain', () => {
  it('tells of every status why', () => {
    const draft = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    expect([why(draft, 'a'), why(draft, 'b')]).toEqual(["'a' is running", "'b' needs 'a' (running)"])
    draft.fail('a')
    expect([why(draft, 'a'), why(draft, 'b')]).toEqual(["'a' failed: it said no", "'b' is blocked: 'a' (failed)"])
    draft.must({ type: 'skip', task: name('a'), reason: 'enough' })
    draft.turn()
    draft.succeed('b')
    expect([why(draft, 'a'), why(draft, 'b')]).toEqual(["'a' was skipped: enough", "'b' is completed"])
  })

  it('tells whom a ready task waits for', () => {
    const journal = started(
      plan(
        'p',
        task('a', { effect: 'pure', write: ['x'] }),
        task('same', { write: ['x'] }),
        task('b'),
        task('more'),
        external('e'),
        external('cond', { when: 'x' }),
        { concurrency: 2 },
      ),
    )
    journal.prepare('a', {})
    expect([why(journal, 'more'), why(journal, 'e'), why(journal, 'cond')]).toEqual([
      "'more' is ready; 2 of at most 2 tasks are running",
      "'e' is ready to claim",
      "'cond' is ready; 2 of at most 2 tasks are running",
    ])
    journal.must({ type: 'claim', token: 'k', by: 'ana' })
    expect(why(journal, 'e')).toBe("'e' is claimed by ana")
    journal.turn({ settled: [{ task: name('b'), visit: 1, attempt: 1, result: succeeded() }], start: false })
    expect([why(journal, 'more'), why(journal, 'same')]).toEqual([
      "'more' is ready and starts as soon as the plan runs",
      "'same' is ready, but other tasks come first or write the same files",
    ])
    journal.must({ type: 'pause' })
    expect(why(journal, 'more')).toBe("'more' is ready, but the plan is paused")
  })

  it('tells what a person is asked', () => {
    const journal = started(plan('p', gate('g'), task('u'), task('v')))
    journal.ask('g')
    journal.succeed('v', {
      verdicts: [
        { criterion: 'good', holds: null },
        { criterion: 'fast', holds: true },
      ],
    })
    journal.must({ type: 'recover', reason: 'its owner died' })
    expect([why(journal, 'g'), why(journal, 'u'), why(journal, 'v')]).toEqual([
      "'g' waits for approval",
      "'u' needs your decision: outcome unknown (its owner died)",
      "'v' waits for a person to confirm: 'good'",
    ])
  })

  it('tells when a retry comes, what is dormant, what is judged last, and what was given up', () => {
    const journal = started(
      plan(
        'p',
        task('a', { retry: { attempts: 2, backoffMs: { min: 2_000, max: 2_000 } } }),
        decision('d', { on: { x: 'z' } }),
        task('z'),
        external('e'),
        { done: [{ type: 'prose', text: 'good' }] },
      ),
    )
    journal.fail('a', { retryable: true })
    expect([why(journal, 'a'), why(journal, 'z'), why(journal, 'done')]).toEqual([
      "'a' will be retried in 2 s: it said no",
      "'z' runs only if 'd' leads to it",
      "'done' (the final checks) runs when all other tasks have finished",
    ])
    journal.must({ type: 'claim', token: 'k', by: 'ana' })
    journal.must({ type: 'cancel' })
    expect([why(journal, 'a'), why(journal, 'e')]).toEqual([
      "'a' is cancelled",
      "'e' was cancelled: the plan was cancelled",
    ])
  })
})

describe('timeline', () => {
  const a = name('a')
  const attempt = { task: a, visit: 1, attempt: 1 }
  const failure = { class: 'logic', message: 'it said no', retryable: false } as const
  const sentences = {
    'plan.created': [
      { type: 'plan.created', plan: numberedPlanId(1), definition: plan('p', task('a')), hash: numberedSha(1) },
      'plan p created with 1 task',
    ],
    'plan.revised': [
      {
        type: 'plan.revised',
        revision: 2,
        definition: plan('p', task('a')),
        hash: numberedSha(1),
        rationale: 'better',
      },
      'revision 2: better',
    ],
    'network.decided': [
      {
        type: 'network.decided',
        ...attempt,
        decisions: [
          { host: 'b', port: 443, method: 'CONNECT', allowed: true, why: 'a rule allows it', rule: '*', count: 12 },
          { host: 'c', port: 80, method: 'GET', path: '/x', allowed: false, why: 'no rule allows it', count: 1 },
        ],
        more: 2,
      },
      'a asked for b:443 12 times: allowed by *; asked for c:80 (GET /x): not allowed (no rule allows it); and 2 more',
    ],
    'budget.reserved': [
      { type: 'budget.reserved', ...attempt, id: 'c1', amount: { cost: 0.5, tokens: 1_200, calls: 1 } },
      'a reserved 0.5 USD, 1,200 tokens, 1 call',
    ],
    'budget.settled': [
      { type: 'budget.settled', ...attempt, id: 'c1', amount: { cost: 0.0021, tokens: 1 } },
      'a spent 0.0021 USD, 1 token',
    ],
    'budget.raised': [
      { type: 'budget.raised', add: { timeMs: 90_000, outputBytes: 2_500_000 }, by: 'ana' },
      'ana added 1m 30s, 2.5 MB to the budget of the plan',
    ],
    'report.refused': [
      { type: 'report.refused', ...attempt, failure, verdicts: [] },
      'report of a not accepted, the claim stays: it said no',
    ],
    'outputs.checked': [
      {
        type: 'outputs.checked',
        lost: [{ task: a, visit: 1, output: 'report', file: 'out/report.json', what: 'missing' }],
      },
      "changed or missing: output 'report' of a (out/report.json is missing)",
    ],
    'task.imported': [{ type: 'task.imported', tasks: [{ task: a, status: 'completed' }] }, 'imported: a completed'],
    'task.added': [{ type: 'task.added', tasks: [task('a'), task('b')] }, 'added: a, b'],
    'plan.annotated': [
      { type: 'plan.annotated', set: { current_step: 2 }, by: 'ana' },
      'plan annotated by ana: current_step',
    ],
    'task.annotated': [
      { type: 'task.annotated', task: a, set: { started_at: null }, by: 'ana' },
      'a annotated by ana: started_at',
    ],
    'task.evaluated': [
      { type: 'task.evaluated', task: a, id: 'e1', by: 'ana', visit: 1, passed: false, score: 0.5 },
      'a evaluated by ana: not passed, score 0.5',
    ],
    'plan.started': [{ type: 'plan.started', rules: START.rules }, 'plan started'],
    'plan.paused': [{ type: 'plan.paused', reason: 'lunch' }, 'plan paused: lunch'],
    'plan.resumed': [{ type: 'plan.resumed' }, 'plan resumed'],
    'plan.cancelled': [
      { type: 'plan.cancelled', reason: 'enough', force: true },
      'cancelling the plan without undo steps: enough',
    ],
    'plan.finished': [{ type: 'plan.finished', status: 'completed', reason: 'all done' }, 'plan completed: all done'],
    'plan.reopened': [{ type: 'plan.reopened', reason: "retry of 'a'" }, "plan reopened: retry of 'a'"],
    'plan.archived': [{ type: 'plan.archived' }, 'plan archived'],
    'task.readied': [
      { type: 'task.readied', tasks: ['a', 'b', 'c', 'd', 'e', 'f'].map(name) },
      'ready: a, b, c, d and 2 more',
    ],
    'task.skipped': [{ type: 'task.skipped', task: a, reason: 'no' }, 'a skipped: no'],
    'task.blocked': [{ type: 'task.blocked', tasks: [name('b')], by: a }, 'b is blocked by a'],
    'task.unblocked': [{ type: 'task.unblocked', tasks: [a] }, 'a is no longer blocked'],
    'task.abandoned': [{ type: 'task.abandoned', task: a, reason: 'no' }, 'a cancelled: no'],
    'task.failed': [{ type: 'task.failed', task: a, by: name('a/b'), reason: 'no' }, 'a failed: no'],
    'task.reopened': [{ type: 'task.reopened', tasks: [a], reason: 'again' }, 'a will run again: again'],
    'task.routed': [{ type: 'task.routed', task: a, outcome: 'failure', to: [name('b')] }, 'a failure → b'],
    'attempt.started': [
      { type: 'attempt.started', task: a, visit: 2, attempt: 3, claim: { token: 'k', by: 'ana' } },
      'a started (run 2, attempt 3), claimed by ana',
    ],
    'attempt.succeeded': [
      { type: 'attempt.succeeded', ...attempt, result: { status: 'succeeded', durationMs: 1_250 } },
      'a completed in 1.3s',
    ],
    'attempt.failed': [
      { type: 'attempt.failed', ...attempt, result: { status: 'failed', failure } },
      'a failed: it said no',
    ],
    'attempt.lost': [{ type: 'attempt.lost', ...attempt, reason: 'died' }, 'a interrupted: died'],
    'attempt.parked': [
      { type: 'attempt.parked', task: a, evidence: { reason: 'died', effect: 'unsafe', startedAt: 0 } },
      'a: outcome unknown, needs your decision: died',
    ],
    'retry.scheduled': [{ type: 'retry.scheduled', task: a, at: 5 }, 'a will be retried'],
    'gate.opened': [{ type: 'gate.opened', task: a, asks: { type: 'approval', show: [] } }, 'a waits for approval'],
    'gate.decided': [{ type: 'gate.decided', task: a, verdict: 'approved', rationale: 'fine' }, 'a approved: fine'],
    'criterion.judged': [
      { type: 'criterion.judged', task: a, criterion: 'x > 1', holds: false },
      'a: check failed: x > 1',
    ],
    'files.restored': [
      {
        type: 'files.restored',
        changes: numberedSha(1),
        saved: numberedSha(2),
        paths: 1,
        files: ['src/a.txt'],
        by: 'ana',
      },
      'src/a.txt restored by ana',
    ],
    'workspace.restored': [
      { type: 'workspace.restored', task: a, to: numberedSha(1), saved: numberedSha(2) },
      'files of a reverted to before a; the previous version is backed up',
    ],
    'compensation.started': [
      { type: 'compensation.started', task: a, action: { type: 'edit', edits: [] } },
      'running the undo step of a',
    ],
    'compensation.finished': [
      { type: 'compensation.finished', task: a, result: { status: 'failed', failure } },
      'undo step of a failed: it said no',
    ],
    'compensation.retried': [
      { type: 'compensation.retried', task: a, result: { status: 'failed', failure }, at: 5 },
      'undo step of a failed and will be retried: it said no',
    ],
    'plan.compensating': [
      { type: 'plan.compensating', reason: "task 'a' failed" },
      "plan failing: task 'a' failed; running undo steps",
    ],
    'checkpoint.taken': [
      { type: 'checkpoint.taken', name: 'good' as CheckpointName, why: 'asked', standing: { lacks: 'no disk' } },
      'checkpoint good without files: no disk',
    ],
    'git.committed': [
      { type: 'git.committed', task: a, visit: 1, operations: [], failure },
      'a could not be committed: it said no',
    ],
    'place.made': [{ type: 'place.made', operations: [] }, 'worktree created'],
    'fork.adopted': [
      {
        type: 'fork.adopted',
        into: numberedPlanId(2),
        name: 'release' as PlanName,
        version: 9,
        folder: 'kept',
        why: 'busy',
      },
      'adopted into release; its folder was kept: busy',
    ],
    'rollback.started': [
      { type: 'rollback.started', id: 'r', at: 5, kind: 'rollback', to: 4, resets: [], compensate: [] },
      'rolling back to entry 4',
    ],
    'rollback.finished': [
      { type: 'rollback.finished', changes: numberedSha(1), paths: 3 },
      'rollback finished: 3 paths changed',
    ],
    'rollback.stopped': [
      { type: 'rollback.stopped', changes: null, paths: 0, failure },
      'rollback stopped: it said no',
    ],
    'note.added': [{ type: 'note.added', text: 'hm' }, 'hm'],
    'recovery.chosen': [
      {
        type: 'recovery.chosen',
        task: a,
        visit: 1,
        choice: 'alternate',
        reason: "'b' runs instead (recovery rule 1)",
        rule: 0,
        to: [name('b')],
      },
      "a: 'b' runs instead (recovery rule 1)",
    ],
    'task.substituted': [{ type: 'task.substituted', task: a, by: name('b') }, 'a completed: b did its work'],
    'plan.aborted': [{ type: 'plan.aborted', reason: 'enough', with: 'keep' }, 'plan aborted: enough'],
    'breaker.opened': [
      { type: 'breaker.opened', capability: 'net', until: 9, failures: 5 },
      "'net' failed 5 times in a row: tasks that need it wait",
    ],
    'breaker.closed': [{ type: 'breaker.closed', capability: 'net' }, "'net' works again"],
    'task.escalated': [
      { type: 'task.escalated', task: a, why: 'waiting', to: 'lead' },
      'a: not answered yet; escalated to lead',
    ],
    'gate.voted': [
      { type: 'gate.voted', task: a, by: 'ana', rationale: 'fine' },
      'a approved by ana; more approvals are needed: fine',
    ],
    'consent.voided': [
      { type: 'consent.voided', task: a, reason: 'its script changed' },
      'a: the approval is no longer valid: its script changed',
    ],
    'question.asked': [{ type: 'question.asked', id: 'q1', text: 'Which?', form: [], by: 'bot' }, 'bot asks: Which?'],
    'question.answered': [{ type: 'question.answered', id: 'q1', answers: {}, by: 'ana' }, 'ana answered question q1'],
    'revision.proposed': [
      {
        type: 'revision.proposed',
        id: 'p1',
        definition: plan('p', task('a')),
        hash: numberedSha(2),
        base: numberedSha(1),
        rationale: 'better',
        by: 'bot',
      },
      'bot proposes a revision (000000000000): better',
    ],
    'revision.declined': [
      { type: 'revision.declined', id: 'p1', by: 'ana', rationale: 'no' },
      'ana declined the proposed revision p1: no',
    ],
    'assessment.made': [
      { type: 'assessment.made', round: 2, verdicts: [{ criterion: 'x', holds: false }] },
      'round 2: 1 of 1 final check did not pass',
    ],
    'notice.sent': [
      { type: 'notice.sent', id: '7.0', kind: 'waiting', to: 'hook', failure: 'no route' },
      'could not notify hook (waiting): no route',
    ],
  } satisfies { readonly [T in EventType]?: readonly [EventOf<T>, string] }

  it('tells each event in a sentence; golden.test.ts knows one of every type', () => {
    for (const [event, text] of Object.values(sentences))
      expect([event.type, sentence(event)]).toEqual([event.type, text])
  })

  it('names the step that brings files back where whoever tells it has words for it', () => {
    const restored = { type: 'workspace.restored', task: a, to: numberedSha(1), saved: numberedSha(2) } as const
    const words = { plan: 'release', word: (part: object) => JSON.stringify(part) }
    expect(sentence({ ...restored, files: ["it's here.txt"] }, words)).toBe(
      `it's here.txt reverted to before a; the previous version is backed up: {"next":"restore","plan":"release","file":"it's here.txt"}`,
    )
    expect(sentence({ ...restored, files: ['x', 'y'] }, words)).toContain(
      'backed up: {"next":"restore","plan":"release"}',
    )
  })

  it('says that an adoption is undone, and which', () => {
    const [undo] = sentences['rollback.started']
    const { kind: _, ...rest } = undo as Extract<Event, { type: 'rollback.started' }>
    expect(sentence({ ...rest, kind: 'undo', undoes: 'release-fork' })).toBe('undoing the adoption of release-fork')
    expect(sentence({ ...rest, kind: 'undo' })).toBe('undoing the last rollback')
  })

  it('counts the tasks that a plan has, as every view does', () => {
    const run = { type: 'run', command: { argv: ['true'] } } as const
    const definition = {
      name: 'p' as PlanName,
      done: [{ type: 'prose', text: 'good' }],
      tasks: [{ id: a, action: run, matrix: { os: ['linux', 'mac'] } }],
    } as const
    const created = { ...sentences['plan.created'][0], definition } as Event
    // The task, its two children, and the definition of done.
    expect(sentence(created)).toBe('plan p created with 4 tasks')
  })

  it('says of every event of an entry when, by whom, and about which task', () => {
    const events = [sentences['plan.started'][0], sentences['task.skipped'][0]]
    expect(timeline({ now: 7, version: 3, actor: 'ana', events })).toEqual([
      { at: 7, version: 3, actor: 'ana', type: 'plan.started', task: null, text: 'plan started' },
      { at: 7, version: 3, actor: 'ana', type: 'task.skipped', task: 'a', text: 'a skipped: no' },
    ])
  })
})
