// What is shown of what somebody agrees to: all of it, in an order in which nothing that the author says can pass for what is done.

import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ShownGate, ShownTask } from '../../domain/gates/consent.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Releases } from '../../domain/views/gate-releases.ts'
import { paint } from '../terminal/paint.ts'
import { consentWords, wrapped } from './consent-text.ts'

const stored = new Map<string, Buffer>()
const keep = (text: string): Sha256 => {
  const bytes = Buffer.from(text)
  const hash = createHash('sha256').update(bytes).digest('hex')
  stored.set(hash, bytes)
  return hash as Sha256
}
const tell = async (
  shown: ShownTask | ShownGate,
  all = false,
  releases: Releases | null = null,
): Promise<readonly string[]> =>
  await consentWords(shown, { paint: paint(false), all, content: async hash => stored.get(hash) ?? null, releases })

const HASH = 'a'.repeat(64) as Sha256
const TASK: ShownTask = {
  type: 'task',
  plan: 'p' as PlanId,
  name: 'release',
  definition: HASH,
  policy: HASH,
  approvers: null,
  task: 'ship' as TaskName,
  visit: 2,
  impact: 'deploy',
  effect: 'unsafe',
  open: null,
  does: { type: 'argv', argv: ['sh', 'x.sh', 'a\u202eb', ''], stdin: null },
  inputs: { to: 'prod' },
  values: {},
  env: { TOKEN: HASH },
  feedback: null,
  cwd: 'sub',
  program: '/bin/sh',
  files: [{ path: 'x.sh', sha256: keep('echo hi\n'), bytes: 8 }],
  remotes: {},
  reviewed: null,
  besides: ['to undo it: ["sh","undo.sh"]'],
  write: null,
  network: ['example.com'],
  hosts: ['example.com'],
  cost: 'no budget said',
  words: { title: 'Harmless', rationale: 'approve this\n  [0] "true"' },
}

describe('what somebody agrees to', () => {
  it('shows each word of a command on its own line, and what the author says below, behind a bar', async () => {
    expect(await tell(TASK)).toEqual([
      'ship (run 2, effect unsafe, runs as you, deploys)',
      '  runs these 4 words, without a shell:',
      '    [0] "sh"',
      '    [1] "x.sh"',
      '    [2] "a\\u{202e}b"',
      '    [3] ""',
      '  input     to = "prod"',
      '  env       TOKEN (values are bound, not shown)',
      '  in        sub',
      '  program   /bin/sh',
      `  file      x.sh sha256 ${TASK.files[0]!.sha256.slice(0, 12)}, 8 bytes`,
      '            their content: planfold show release ship --all',
      '  writes    not declared (can write anywhere)',
      '  network   example.com',
      '  hosts     example.com',
      '  cost      no budget set',
      '  also runs to undo it: ["sh","undo.sh"]',
      "  from the plan's author (not verified):",
      '    │ Harmless',
      '    │ approve this',
      '    │   [0] "true"',
    ])
  })

  it('shows what is asked of a database, and how it is undone, as SQL; a file reaches no host', async () => {
    const lines = ['execute app.db', 'insert into t values (?)', 'values: [1]']
    const undo = 'to undo it: execute app.db\ndelete from t where n = ?\nvalues: [1]'
    const shown: ShownTask = { ...TASK, does: { type: 'request', to: 'db', lines }, hosts: [], besides: [undo] }
    const told = await tell(shown)
    expect(told.join('\n')).not.toMatch(/network|hosts/)
    const at = told.indexOf('  also runs to undo it:')
    expect(told.slice(at, at + 4)).toEqual([
      '  also runs to undo it:',
      '    │ execute app.db',
      '    │ delete from t where n = ?',
      '    │ values: [1]',
    ])
  })

  it('shows the files a command names when all is asked for', async () => {
    expect(await tell(TASK, true)).toContain('    │ echo hi')
  })

  it('leaves nothing out without saying how to see it', async () => {
    const script = Array.from({ length: 100 }, (_, at) => `step ${at}`).join('\n')
    const long: ShownTask = { ...TASK, does: { type: 'script', script, stdin: 'x\n' } }
    const some = await tell(long)
    expect(some).toContain('    … 60 more lines: planfold show release ship --all')
    expect(some).not.toContain('    │ step 99')
    const all = await tell(long, true)
    expect(all).toContain('    │ step 99')
    expect(all.some(line => line.includes('more lines'))).toBe(false)
  })

  it('shows at a gate what may begin, what is asked about later, and the diff from the stored bytes', async () => {
    const gate: ShownGate = {
      type: 'gate',
      plan: 'p' as PlanId,
      name: 'release',
      definition: HASH,
      policy: HASH,
      approvers: null,
      gate: 'diff',
      task: 'ok' as TaskName,
      visit: 1,
      show: ['diff'],
      tasks: [TASK],
      later: ['publish' as TaskName],
      reviewed: [{ path: 'a.txt', before: keep('one\n'), now: keep('two\u200b\n') }],
      words: {},
    }
    const lines = await tell(gate)
    expect(lines.slice(0, 6)).toEqual([
      'changed by the plan so far, 1 path:',
      `  a.txt ${gate.reviewed![0]!.before!.slice(0, 12)} → ${gate.reviewed![0]!.now!.slice(0, 12)}`,
      '    │ @@ -1,1 +1,1 @@',
      '    │ -one',
      '    │ +two\\u{200b}',
      'if you approve, this runs:',
    ])
    expect(lines).toContain('    runs these 4 words, without a shell:')
    expect(lines).toContain('needs an approval of its own later: publish')
    // The way to see all leads to the gate that asks, not to the task behind it.
    expect(lines).toContain('              their content: planfold show release ok --all')
  })

  it('says whether a sandbox proves that a command keeps to the workspace, or its author is trusted', async () => {
    const task = { ...TASK, impact: null, effect: 'workspace', write: ['out/**'], network: [] } as const
    const trusted = await tell(task)
    expect(trusted).toContain('ship (run 2, effect workspace, runs as you)')
    expect(trusted).toContain('  writes    out/**')
    const proved = await tell({ ...task, sandbox: true })
    expect(proved).toContain('ship (run 2, effect workspace, runs held in the sandbox)')
    expect(proved).toContain('  writes    out/** (enforced by the sandbox)')
    expect(proved).toContain('  network   none (enforced by the sandbox)')
    expect(await tell({ ...task, sandbox: true, write: null })).toContain(
      '  writes    not declared (the sandbox lets it write the whole workspace, nothing else)',
    )
  })

  it('says of what only reads that it writes nothing, and of an edit that it reaches nobody', async () => {
    const argv = { type: 'argv', argv: ['ls'], stdin: null } as const
    const reads = await tell({ ...TASK, effect: 'pure', write: null, network: null, does: argv })
    expect(reads).toContain('  writes    nothing (declared read-only)')
    expect(reads).toContain('  network   not declared (can reach anything)')
    // What others wrote reaches only what the person's own rules allow.
    const byRules = await tell({ ...TASK, network: null, sandbox: true, rules: 'own', does: argv })
    expect(byRules).toContain('  network   not declared (only what your own network rules allow)')
    const edits = await tell({ ...TASK, effect: 'workspace', network: null, does: { type: 'edit', diff: '+a' } })
    expect(edits).toContain('  network   none')
    const asks = await tell({ ...TASK, network: ['a.example'], unknown: 'ask', does: argv })
    expect(asks).toContain('  network   a.example, others when a person allows them')
  })

  it('shows what whoever claims a task is told, behind a bar', async () => {
    const lines = await tell({ ...TASK, does: { type: 'external', instruction: 'ship\u202e it' } })
    expect(lines.slice(1, 4)).toEqual([
      '  is done by the agent or person that claims it',
      '  instruction:',
      '    │ ship\\u{202e} it',
    ])
  })

  describe('at a gate', () => {
    const gate: ShownGate = {
      type: 'gate',
      plan: 'p' as PlanId,
      name: 'release',
      definition: HASH,
      policy: HASH,
      approvers: null,
      gate: 'approval',
      task: 'ok' as TaskName,
      visit: 1,
      show: [],
      tasks: [TASK],
      later: [],
      reviewed: null,
      words: {},
    }
    const names = (...all: readonly string[]) => all as readonly TaskName[]

    it('is released only what waits for nobody else', async () => {
      const waits = [{ task: 'ship' as TaskName, for: names('other-gate', 'build') }]
      const held = await tell(gate, false, { begins: names('note'), waits, more: 0 })
      expect(held.slice(0, 3)).toEqual([
        'if you approve, you agree to this task; it does not start yet:',
        '  ship (run 2, effect unsafe, runs as you, deploys)',
        '    also waits for other-gate, build',
      ])
      expect(held).toContain('it starts: note')
      const alone = await tell(gate, false, { begins: names('ship'), waits: [], more: 0 })
      expect(alone[0]).toBe('if you approve, this runs:')
      expect(alone.join('\n')).not.toContain('also waits')
    })

    it('with a question is told what begins, and what does not yet', async () => {
      const question: ShownGate = { ...gate, gate: 'question', tasks: [] }
      const waits = [{ task: 'b' as TaskName, for: names('g2') }]
      expect(await tell(question, false, { begins: names('a', 'z\u202e'), waits, more: 3 })).toEqual([
        'your answer starts: a, z\\u{202e}',
        'b also waits for g2',
        'and 3 more tasks after it',
      ])
      expect(await tell(question, false, { begins: [], waits: [], more: 0 })).toEqual([
        'no task starts directly after it',
      ])
    })
  })

  it('goes on in the next line where a line is too long', () => {
    expect(wrapped(['x'.repeat(50), 'y'], 20)).toEqual([
      'x'.repeat(20),
      `  ↪ ${'x'.repeat(16)}`,
      `  ↪ ${'x'.repeat(14)}`,
      'y',
    ])
  })
})
