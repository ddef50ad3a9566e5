// Each rule fires where it should, and is silent where it should be: every row is a plan and what is said about it.

import { describe, expect, it } from 'vitest'
import { decision, edit, external, gate, name, plan, task } from '../../testing/plan.ts'
import { dueAt } from '../instant.ts'
import { spoken } from '../phrases.ts'
import type { GateAction, PlanDefinition } from '../plan.ts'
import { analyze, type FindingCode, planErrors } from './analyze.ts'
import { FINDING_CODES } from './finding.ts'
import type { AnalyzeOptions } from './lint-input.ts'

const scopes: NonNullable<AnalyzeOptions['scopes']> = {
  fault: pattern => (pattern.includes('{') ? 'holds braces' : null),
  fileFault: file => (file.includes('..') ? 'leaves the workspace' : null),
  folderFault: folder => (folder.startsWith('/') ? 'is not a folder inside the workspace' : null),
  holds: (patterns, file) => patterns.some(pattern => file.startsWith(pattern.replace(/\*+$/, ''))),
}
const environment: NonNullable<AnalyzeOptions['environment']> = {
  fault: variable => (variable === 'PATH' ? 'changes which code other programs run' : null),
}
const H = 3_600_000
const run = (...argv: readonly string[]) => ({ action: { type: 'run', command: { argv } } }) as const
const read = (reader: string | null, producer: string, output: string) => ({
  reader: reader === null ? null : name(reader),
  key: 'inputs',
  producer: name(producer),
  output,
  text: `tasks.${producer}.outputs.${output}`,
})

const CHOICE = [{ id: 'small' }, { id: 'large' }]
const asks = (said: Partial<GateAction>) => ({ action: { type: 'gate', gate: 'approval', ...said } }) as const

const db = (said: { readonly [key: string]: string }) =>
  ({ action: { type: 'db', spec: { url: 'sqlite:app.db', ...said } } }) as const
const UNDO = { type: 'run', command: { argv: ['true'] } } as const
const DOWNLOAD = { archive: { from: 'file', file: 'dist/x.tgz' } } as const

const model = (id: string, needs: readonly string[] = []) =>
  task(id, { needs: needs.map(name), action: { type: 'model', spec: 'local/x' }, instruction: 'ask' })

type Row = readonly [code: FindingCode, tasks: readonly (string | undefined)[], PlanDefinition, AnalyzeOptions?]

const FIRES: readonly Row[] = [
  ['empty', [undefined], plan('p')],
  ['duplicate', ['a'], plan('p', task('a'), task('a'))],
  ['unknown-reference', ['a'], plan('p', task('a', { needs: ['b'] }))],
  ['cycle', ['a'], plan('p', task('a', { needs: ['a'] }))],
  ['policy', ['a'], plan('p', task('a', { write: ['doc/x'] }), { policy: { write: ['src/**'] } })],
  ['impossible-outcome', ['a'], plan('p', task('a', { on: { rejcted: 'b' } }), task('b'))],
  [
    'impossible-outcome',
    ['d'],
    plan('p', decision('d', { on: { yess: 'b', default: 'b' } }), task('b')),
    { decided: () => ['yes', 'no'] },
  ],
  ['cwd-outside', ['a'], plan('p', task('a', { cwd: '/srv' })), { scopes }],
  ['reserved-variable', ['a'], plan('p', task('a', { env: { OK: '1', PATH: '.' } })), { environment }],
  ['secret-name', ['a'], plan('p', task('a', { secrets: ['PATH'], ...run('env') })), { environment }],
  ['secret-without-command', ['a'], plan('p', external('a', { secrets: ['TOKEN'] }))],
  ['unreachable', ['b', 'c'], plan('p', task('a', { on: { timeout: 'b' } }), task('b'), task('c', { needs: ['b'] }))],
  ['default-visits', ['b'], plan('p', task('a'), gate('b', { needs: ['a'], on: { rejected: 'a' } }))],
  ['too-many-tasks', [undefined], plan('p', ...Array.from({ length: 8 }, (_, at) => task(`t${at}`)))],
  ['too-many-tasks', [undefined], plan('p', task('a'), task('b')), { topLevelMax: 1 }],
  ['too-few-tasks', [undefined], plan('p', task('a'), task('b'))],
  [
    'several-agents',
    [undefined],
    plan('p', external('a', { assignee: 'one' }), external('b', { assignee: 'two' }), task('c')),
  ],
  ['unclear-task', ['a', 'b'], plan('p', external('a'), external('b', { title: 'Fix' }))],
  [
    'unknown-output',
    ['b'],
    plan('p', task('a', { outputs: { total: { from: 'stdout', as: 'json' } } }), task('b', { needs: ['a'] })),
    { reads: [read('b', 'a', 'totl')] },
  ],
  ['unknown-output', [undefined], plan('p', task('a')), { reads: [read(null, 'a', 'x')] }],
  [
    'unknown-output',
    ['b'],
    plan('p', task('size', asks({ gate: 'decision', options: CHOICE })), task('b', { needs: ['size'] })),
    { reads: [read('b', 'size', 'option')] },
  ],
  ['unknown-output', [undefined], plan('p', gate('a')), { reads: [read(null, 'a', 'choice')] }],
  ['output-too-early', ['b'], plan('p', external('a'), task('b')), { reads: [read('b', 'a', 'x')] }],
  ['scope-overlap', ['b'], plan('p', edit('a', 'src/x'), edit('b', 'src/x'))],
  ['scope-overlap', ['b'], plan('p', task('a', { write: ['src/**'] }), task('b', { write: ['src/deep/x'] }))],
  ['scope-whole', ['a'], plan('p', task('a', { write: ['**'] }))],
  ['scope-unusable', ['a'], plan('p', task('a', { write: ['src/{a,b}'] })), { scopes }],
  ['scope-too-wide', ['a'], plan('p', task('a', { write: ['src/**'] }), { policy: { write: ['src/lib/**'] } })],
  ['edit-outside', ['a'], plan('p', edit('a', 'doc/x', { write: ['src/**'] })), { scopes }],
  ['edit-outside', ['a'], plan('p', edit('a', '../x')), { scopes }],
  ['edit-outside', ['a'], plan('p', edit('a', 'doc/x'), { policy: { write: ['src/**'] } }), { scopes }],
  [
    'network-beyond',
    ['a'],
    plan('p', task('a', { network: ['https://b.example.com'] }), { policy: { network: ['https://a.example.com'] } }),
  ],
  ['no-compensation', ['a'], plan('p', task('a', { ...db({ execute: 'delete from users' }), write: ['app.db'] }))],
  ['edit-outside', ['a'], plan('p', task('a', { ...db({ migrate: '1.sql' }), compensate: UNDO })), { scopes }],
  [
    'edit-outside',
    ['a'],
    plan('p', task('a', { action: { type: 'http', spec: 'https://x' }, outputs: DOWNLOAD, write: ['src/**'] })),
    { scopes },
  ],
  ['ungated', ['a'], plan('p', task('a', { action: { type: 'http', spec: { url: 'https://x', method: 'POST' } } }))],
  [
    'confidential-prompt',
    ['b'],
    plan(
      'p',
      task('a', { labels: ['confidential'], outputs: { x: { from: 'stdout', as: 'text' } } }),
      model('b', ['a']),
    ),
    { reads: [read('b', 'a', 'x')] },
  ],
  ['confidential-prompt', ['b'], plan('p', model('b'), { labels: ['Confidential'] })],
  ['label-like-another', ['a'], plan('p', task('a', { labels: ['confidental', 'select', 'private'] }))],
  ['output-word', ['a'], plan('p', task('a', { outputs: { n: { from: 'stdout', as: 'text', type: 'integer' } } }))],
  ['unknown-artifact', [undefined], plan('p', task('a'), { artifacts: [{ name: 'x', from: 'a.x' }] })],
  ['label-like-another', [undefined], plan('p', task('a'), { labels: ['Secrets'] })],
  ['not-enforced', [undefined], plan('p', task('a'), { policy: { budget: { cost: { amount: 3, currency: 'EUR' } } } })],
  ['ungated', ['a'], plan('p', task('a', { kind: 'deploy' }))],
  ['ungated', ['a'], plan('p', task('a', run('git', 'push', 'origin')))],
  ['ungated', ['a'], plan('p', task('a', { kind: 'db-migration' }))],
  [
    'ungated',
    ['a'],
    plan('p', task('a', { action: { type: 'run', command: { script: 'psql -c "DROP TABLE users"' } } })),
  ],
  [
    'gate-required',
    ['a'],
    plan('p', task('a', { kind: 'deploy' }), { extra: { policies: { requireGateForProd: true } } }),
  ],
  ['gates-off', [undefined], plan('p', task('a'), { policy: { gates: { before: [] } } })],
  ['unknown-role', ['a'], plan('p', task('a', asks({ approvers: { role: 'release' } })))],
  [
    'unknown-role',
    [undefined],
    plan('p', task('a'), { policy: { roles: { lead: ['ana'] }, escalate: { afterMs: H, to: 'leed' } } }),
  ],
  [
    'unknown-role',
    ['a'],
    plan('p', task('a', asks({ escalate: { afterMs: H, to: 'nobody' } })), { policy: { roles: { lead: ['ana'] } } }),
  ],
  [
    'unknown-role',
    ['a'],
    plan('p', task('a', { recover: [{ do: { type: 'ask', to: 'bo' } }] }), { policy: { roles: { lead: ['ana'] } } }),
  ],
  [
    'quorum-impossible',
    ['a'],
    plan('p', task('a', asks({ approvers: { role: 'lead', count: 2 } })), {
      policy: { roles: { lead: ['ana', 'ana'] } },
    }),
  ],
  [
    'option-without-edge',
    ['a'],
    plan('p', task('a', { ...asks({ gate: 'decision', options: CHOICE }), on: { small: 'b' } }), task('b')),
  ],
  [
    'dead-rule',
    ['a'],
    plan('p', task('a', { recover: [{ do: { type: 'abort' } }, { on: ['logic'], do: { type: 'ask' } }] })),
  ],
  [
    'dead-rule',
    ['a'],
    plan(
      'p',
      task('a', {
        failureModes: [{ name: 'flaky', detect: { type: 'expect', expression: 'exit == 3' }, class: 'transient' }],
        recover: [
          { on: ['transient'], do: { type: 'abort' } },
          { on: ['flaky'], do: { type: 'ask' } },
        ],
      }),
    ),
  ],
  // A ring of three is told once; who only leads into it is not in it.
  [
    'remedy-circle',
    ['b'],
    plan(
      'p',
      task('a', { recover: [{ do: { type: 'alternate', task: name('b') } }] }),
      task('b', { recover: [{ do: { type: 'alternate', task: name('c') } }] }),
      task('c', { recover: [{ do: { type: 'repair', task: name('d') } }] }),
      task('d', { recover: [{ do: { type: 'ask' } }, { do: { type: 'alternate', task: name('b') } }] }),
    ),
  ],
  ['effects-beyond', ['a'], plan('p', task('a', { write: ['src/**'], effects: ['doc/x'] }))],
  ['effects-beyond', ['a'], plan('p', task('a', { effects: ['src/{a,b}'] })), { scopes }],
  ['no-acceptance', ['a'], plan('p', external('a'))],
  ['no-rollback', ['a'], plan('p', task('a'))],
  ['no-goal', [undefined], plan('p', task('a'))],
  ['no-done', [undefined], plan('p', task('a'))],
  ['no-owner', [undefined], plan('p', task('a'))],
  ['no-stakeholders', [undefined], plan('p', task('a'))],
  ['no-stakeholders', [undefined], plan('p', task('a'), { stakeholders: ['ana'] })],
  ['deadline-past', ['a'], plan('p', task('a', { deadline: '2026-01-31' })), { now: 2e12 }],
  [
    'deadline-missed',
    ['b'],
    plan('p', task('a', { estimateMs: 48 * H }), task('b', { needs: ['a'], deadline: '1970-01-02' })),
    { now: 0 },
  ],
  [
    'deadline-order',
    ['b'],
    plan('p', task('a', { deadline: '2026-02-02' }), task('b', { needs: ['a'], deadline: '2026-02-01' })),
  ],
  [
    'over-budget',
    [undefined],
    plan('p', task('a', { budget: { cost: { amount: 3, currency: 'USD' } } }), {
      policy: { budget: { cost: { amount: 2, currency: 'USD' } } },
    }),
  ],
  ['over-budget', [undefined], plan('p', task('a', { estimateMs: 2 * H }), { policy: { budget: { timeMs: H } } })],
  ['over-budget', [undefined], plan('p', task('a'), task('b'), { policy: { budget: { attempts: 1 } } })],
  ['long-task', ['a'], plan('p', task('a', { estimateMs: 9 * H }))],
  ['timeout-short', ['a'], plan('p', task('a', { estimateMs: 2 * H, timeoutMs: H }))],
  ['priority-inversion', ['b'], plan('p', task('a'), task('b', { needs: ['a'], priority: 5 }))],
]

const SILENT: readonly (readonly [FindingCode, PlanDefinition, AnalyzeOptions?])[] = [
  ['gates-off', plan('p', task('a'), { policy: { gates: {} } })],
  [
    'unknown-role',
    plan('p', task('a', asks({ approvers: { role: 'lead' } })), { policy: { roles: { lead: ['ana'] } } }),
  ],
  // Where no roles are said, a name is a name; and whoever has a role may be called by name.
  ['unknown-role', plan('p', task('a'), { policy: { escalate: { afterMs: H, to: 'ana' } } })],
  ['unknown-role', plan('p', task('a'), { policy: { roles: { lead: ['ana'] }, escalate: { afterMs: H, to: 'ana' } } })],
  [
    'option-without-edge',
    plan('p', task('a', { ...asks({ gate: 'decision', options: CHOICE }), on: { default: 'b' } }), task('b')),
  ],
  [
    'remedy-circle',
    plan(
      'p',
      task('a', { recover: [{ do: { type: 'alternate', task: name('b') } }] }),
      task('b', { recover: [{ do: { type: 'alternate', task: name('c') } }] }),
      task('c'),
    ),
  ],
  ['dead-rule', plan('p', task('a', { recover: [{ on: ['logic'], do: { type: 'abort' } }, { do: { type: 'ask' } }] }))],
  [
    'impossible-outcome',
    plan('p', task('a', { ...asks({ gate: 'decision', options: CHOICE }), on: { small: 'b' } }), task('b')),
  ],
  ['impossible-outcome', plan('p', decision('d', { on: { anything: 'b' } }), task('b')), { decided: () => null }],
  [
    'impossible-outcome',
    plan('p', decision('d', { on: { yes: 'b', failure: 'b', default: 'b' } }), task('b')),
    { decided: () => ['yes', 'no'] },
  ],
  // A folder that is computed is known when the task runs.
  ['cwd-outside', plan('p', task('a', { cwd: '/${{ inputs.folder }}' }), task('b', { cwd: 'src' })), { scopes }],
  // A remedy is led to, and its rule says how often.
  ['unreachable', plan('p', task('a', { recover: [{ do: { type: 'alternate', task: name('b') } }] }), task('b'))],
  [
    'default-visits',
    plan('p', task('a'), task('b', { needs: ['a'], recover: [{ do: { type: 'repair', task: name('a') } }] })),
  ],
  ['effects-beyond', plan('p', task('a', { write: ['src/**'], effects: ['src/lib/**'] }))],
  ['scope-overlap', plan('p', edit('a', 'src/x'), edit('b', 'src/x', { needs: ['a'] }))],
  ['scope-overlap', plan('p', edit('a', 'src/x'), task('m', { needs: ['a'] }), edit('b', 'src/x', { needs: ['m'] }))],
  ['scope-overlap', plan('p', edit('a', 'src/x'), edit('b', 'src/xy'))],
  ['too-many-tasks', plan('p', ...Array.from({ length: 8 }, (_, at) => task(`t${at}`, { milestone: 'one' })))],
  ['too-many-tasks', plan('p', ...Array.from({ length: 7 }, (_, at) => task(`t${at}`)))],
  ['ungated', plan('p', gate('ok'), task('build', { needs: ['ok'] }), task('a', { kind: 'deploy', needs: ['build'] }))],
  ['ungated', plan('p', gate('ok', { on: { approved: 'a' } }), task('a', { kind: 'deploy' }))],
  ['ungated', plan('p', task('a', run('git', 'status', 'push')))],
  [
    'network-beyond',
    plan('p', task('a', { network: ['a.example.com:443'] }), { policy: { network: ['https://a.example.com/x'] } }),
  ],
  [
    'unknown-output',
    plan('p', external('a'), edit('b', 'x', { needs: ['a'] })),
    { reads: [read('b', 'a', 'anything'), read(null, 'b', 'files')] },
  ],
  [
    'unknown-output',
    plan('p', task('size', asks({ gate: 'decision', options: CHOICE })), task('b', { needs: ['size'] })),
    { reads: [read('b', 'size', 'choice'), read('b', 'size', 'rationale'), read('b', 'size', 'by')] },
  ],
  [
    'unknown-output',
    plan(
      'p',
      task('place', asks({ gate: 'question', form: [{ name: 'host', type: 'text' }] })),
      task('b', { needs: ['place'] }),
    ),
    { reads: [read('b', 'place', 'host')] },
  ],
  [
    'output-too-early',
    plan(
      'p',
      task('a', { outputs: { x: { from: 'stdout', as: 'text' } } }),
      decision('d', { needs: ['a'], on: { yes: 'e' } }),
      task('e'),
    ),
    { reads: [read('e', 'a', 'x')] },
  ],
  ['too-few-tasks', plan('p', task('a'), task('b'), task('c'))],
  ['several-agents', plan('p', external('a', { assignee: 'one' }), external('b', { assignee: 'one' }))],
  ['unclear-task', plan('p', external('a', { instruction: 'Fix the retry of uploads' }), task('b'))],
  ['not-enforced', plan('p', task('a'), { policy: { budget: { cost: { amount: 3, currency: 'USD' }, attempts: 3 } } })],
  ['default-visits', plan('p', task('a', { visits: 2 }), gate('b', { needs: ['a'], on: { rejected: 'a' } }))],
  ['deadline-past', plan('p', task('a', { deadline: '1999-01-31' }))],
  ['no-rollback', plan('p', task('a', { rollback: 'git revert' }), task('b', { effect: 'pure' }))],
  ['no-rollback', plan('p', edit('a', 'f'), task('b', { compensate: { type: 'task', task: name('c') } }), task('c'))],
  [
    'no-acceptance',
    plan('p', external('a', { accept: [{ type: 'prose', text: 'good' }] }), external('b', { kind: 'research' })),
  ],
  [
    'impossible-outcome',
    plan(
      'p',
      task('a', {
        failureModes: [{ name: 'full', detect: { type: 'prose', text: 'x' } }],
        on: { full: 'b', failure: 'b' },
      }),
      task('b'),
    ),
  ],
  ['edit-outside', plan('p', edit('a', '${{ inputs.file }}', { write: ['src/**'] })), { scopes }],
  ['scope-too-wide', plan('p', task('a', { write: ['src/lib/x'] }), { policy: { write: ['src/**'] } })],
]

const said = (code: FindingCode, definition: PlanDefinition, options: AnalyzeOptions = {}) =>
  analyze(definition, options).findings.filter(finding => finding.code === code)

describe('the lint', () => {
  it.each(FIRES.map((row, at) => [row[0], at, row] as const))(
    'finds %s (%i)',
    (code, _, [, tasks, definition, options]) => {
      const found = said(code, definition, options)
      expect(found.map(finding => finding.task)).toEqual(tasks)
      for (const { message, hint } of found) expect([message.length > 10, hint.length > 5]).toEqual([true, true])
    },
  )

  it.each(SILENT.map((row, at) => [row[0], at, row] as const))(
    'does not find %s (%i)',
    (code, _, [, definition, options]) => {
      expect(said(code, definition, options)).toEqual([])
    },
  )

  it('has a test for every code', () => {
    const shown = new Set([...FIRES.map(([code]) => code), 'limit', 'structure'])
    expect(FINDING_CODES.filter(code => !shown.has(code))).toEqual([])
  })

  it('finds the same errors without estimates and schedules', () => {
    const rows = [
      ...FIRES.map(([, , definition, options]) => ({ definition, options })),
      ...SILENT.map(([, definition, options]) => ({ definition, options })),
    ]
    for (const { definition, options = {} } of rows) {
      const errors = analyze(definition, options).findings.filter(({ severity }) => severity === 'error')
      expect(planErrors(definition, options)).toEqual(errors)
    }
  })

  it('tells the worst first', () => {
    const { findings } = analyze(plan('p', external('z'), task('a', { needs: ['gone'] })))
    expect(findings.map(({ severity }) => severity)).toEqual([
      'error',
      'warning',
      'warning',
      'warning',
      'info',
      'info',
      'info',
      'info',
      'info',
      'info',
    ])
  })

  it('says of many tasks in one place what they have in common, once', () => {
    const many = Array.from({ length: 2_000 }, (_, at) => edit(`t${at}`, 'one/file'))
    expect(said('scope-overlap', plan('p', ...many)).map(({ message }) => message)).toEqual([
      "'t0' and 't1' (and 1998 more) could run at once but write the same files (one/file); they will be run one after the other",
    ])
  })
})

it('counts deadlines without a calendar as the calendar does', () => {
  for (const text of [
    '1970-01-01T00:00:00Z',
    '2000-02-29T23:59:59.5Z',
    '2026-06-01T12:00+02:00',
    '2026-12-31T23:59:59-11:30',
    '1900-03-01T00:00Z',
  ])
    expect(dueAt(text), text).toBe(Date.parse(text))
  expect(dueAt('2026-01-31')).toBe(Date.parse('2026-02-01'))
  expect(dueAt('soon')).toBeNull()
})

it('speaks of lengths in two units', () => {
  expect([0, 999, 1000, 90_000, 3_600_000, 90_000_000].map(spoken)).toEqual([
    '0ms',
    '999ms',
    '1s',
    '1m 30s',
    '1h',
    '1d 1h',
  ])
})
