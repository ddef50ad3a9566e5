import { describe, expect, it } from 'vitest'
import { edit, external, gate, plan, task } from '../../testing/index.ts'
import { cpuMs } from '../cpu-time.fixture.ts'
import type { GatedImpact, Impact, Policy, TaskDefinition } from '../plan.ts'
import { gatedImpact, impactOf } from './impact.ts'

const run = (...argv: readonly string[]): TaskDefinition => task('a', { action: { type: 'run', command: { argv } } })
const script = (text: string): TaskDefinition => task('a', { action: { type: 'run', command: { script: text } } })
const of = (one: TaskDefinition, policy: Policy = {}): Impact | null => impactOf(plan('p', one, { policy }), one)

describe('what is hard to take back', () => {
  it.each<readonly [Impact | null, TaskDefinition]>([
    ['push', run('git', 'push', 'origin')],
    ['push', run('/usr/bin/git', '-C', 'sub', '-c', 'x=y', 'push')],
    ['push', script('cd x && git push')],
    ['push', run('docker', 'push', 'me/it')],
    [null, run('git', 'status', 'push')],
    [null, run('git', 'stash', 'push')],
    ['deploy', run('kubectl', 'apply', '-f', 'x.yaml')],
    ['deploy', run('npm', 'publish')],
    ['deploy', task('a', { kind: 'release' })],
    ['delete', script('psql -c "DROP TABLE users"')],
    ['delete', task('a', { labels: ['destructive'] })],
    ['delete', script('rm -rf "$DIR"')],
    ['delete', run('rm', '-rf', '/var/data')],
    ['delete', run('/bin/rm', '-r', '../other')],
    ['delete', run('rm', '-fv', '~/x')],
    ['delete', script('cd x; rm --force -- *')],
    ['delete', run('sudo', 'rm', '-rf', '.')],
    ['delete', run('sh', '-c', "cd /tmp && rm -rf './'")],
    ['delete', run('rm', '-rf', '${{ inputs.where }}')],
    ['delete', script('ls | xargs rm -f')],
    [null, run('rm', '-rf', 'build')],
    [null, run('rm', '-rf', './build', 'dist/*', 'x..y')],
    [null, run('rm', '/var/one')],
    [null, script('farm -rf /x; echo rm')],
    ['delete', run('git', 'clean', '-xdf')],
    ['delete', script('git -C sub reset --hard HEAD~1')],
    [null, run('git', 'reset', '--soft', 'HEAD~1')],
    [null, run('git', 'clean', '-n')],
    ['delete', script('find / -name "*.log" -delete')],
    ['delete', run('find', '-type', 'f', '-delete')],
    ['delete', script('find .. -exec rm {} +')],
    [null, run('find', 'build', '-delete')],
    [null, run('find', '/', '-name', 'x')],
    ['delete', run('terraform', 'destroy', '-auto-approve')],
    ['delete', run('tofu', 'apply', '-destroy')],
    ['deploy', run('terraform', 'apply')],
    ['push', run('git', '--git-dir', 'x', '--work-tree=y', '-c', 'a=b', '--bare', 'push')],
    ['migrate', run('alembic', 'upgrade', 'head')],
    ['migrate', task('a', { kind: 'schema-migration' })],
    [null, run('npm', 'test')],
    [null, gate('a', { kind: 'deploy' })],
  ])('%s: %j', (impact, one) => {
    expect(of(one)).toBe(impact)
  })

  it.each<readonly [Impact | null, readonly string[], readonly string[]]>([
    [null, ['src/**'], ['src/a.ts']],
    [null, ['src/**'], ['src/lib/**']],
    [null, ['src/'], ['src/a.ts']],
    [null, ['docs/*.md', '*.txt'], ['*.txt']],
    [null, ['**'], ['anything/at/all']],
    ['outside', ['src/**'], ['test/a.ts']],
    ['outside', ['src/**'], ['**']],
    ['outside', ['src/a.ts'], ['src/*']],
    ['outside', ['src/**'], ['src/a.ts', 'etc']],
    ['outside', [], ['a']],
  ])('%s: a policy of %j and a scope of %j', (impact, write, scope) => {
    expect(of(task('a', { write: scope }), { write })).toBe(impact)
    // An edit beyond the policy fails by itself.
    expect(of(edit('a', 'x', { write: scope }), { write })).toBe(null)
  })

  it.each<readonly [Impact | null, string]>([
    ['outside', '../elsewhere/**'],
    ['outside', '/etc/x'],
    ['outside', 'src/../../x'],
    ['outside', '**/../x'],
    [null, 'src/../x'],
    [null, 'a..b/**'],
  ])('%s: a scope of %s, without a policy', (impact, pattern) => {
    expect(of(task('a', { write: [pattern] }))).toBe(impact)
    expect(of(task('a', { write: [pattern] }), { write: [pattern] })).toBe(impact)
    expect(of(edit('a', 'x', { write: [pattern] }))).toBe(impact)
  })

  it.each(['git -C ', '-C -c ', 'git ', 'rm -x ', 'find -x ', 'a', ' ', '-', 'git --git-dir=x '])(
    'is told in little time from a long line of %j',
    text => {
      const reading = () => {
        of(script(`git ${text.repeat(100_000 / text.length)}`))
        of(run('git', ...text.repeat(100_000 / text.length).split(' ')))
      }
      expect(cpuMs(reading, 1_000)).toBeLessThan(1_000)
    },
  )

  it('is asked about unless the policy says otherwise; what a policy demands always is', () => {
    const push = run('git', 'push')
    const deploy = task('a', { kind: 'deploy' })
    const at = (one: TaskDefinition, policy: Policy, extra = {}) => gatedImpact(plan('p', one, { policy, extra }), one)
    expect(at(push, {})).toBe('push')
    expect(at(push, { gates: { before: [] } })).toBe(null)
    expect(at(push, { gates: { before: ['deploy'] } })).toBe(null)
    expect(at(push, { gates: { before: ['push'] } })).toBe('push')
    expect(at(deploy, { gates: { before: [] } }, { policies: { requireGateForProd: true } })).toBe('deploy')
  })

  it('asks before a file is written that coding agents read as instructions, however it is spelt', () => {
    for (const path of [
      ...[
        'AGENTS.md',
        'packages/core/AGENTS.md',
        'agents.MD',
        './CLAUDE.md',
        'CLAUDE.local.md',
        'GEMINI.md',
        'QWEN.md',
      ],
      ...[
        '.github/copilot-instructions.md',
        '.github/instructions/x.md',
        'ＡＧＥＮＴＳ.md',
        'AGEN\u200bTS.md',
        'AGENTS.md.',
      ],
    ]) {
      expect([path, of(task('a', { write: [path] }))]).toEqual([path, 'instructions'])
      expect([path, of(external('a', { write: [path] }))]).toEqual([path, 'instructions'])
      expect([path, of(edit('a', path))]).toEqual([path, 'instructions'])
    }
    for (const path of ['docs/**', 'docs/agents.txt', 'src/agents.md/x.ts', 'AGENTS', '.github/CODEOWNERS'])
      expect([path, of(task('a', { write: [path] }))]).toEqual([path, null])
    const moved = edit('a', 'x')
    const to = { ...moved, action: { type: 'edit', edits: [{ type: 'move', file: 'x', to: 'AGENTS.md' }] } } as const
    expect(of(to)).toBe('instructions')
    const one = edit('a', 'AGENTS.md')
    expect(gatedImpact(plan('p', one, { policy: { gates: { before: ['push'] } } }), one)).toBe(null)
  })

  it('is asked about by each of several: no other word of the task hides one', () => {
    const asked = (one: TaskDefinition, ...before: readonly GatedImpact[]) =>
      gatedImpact(plan('p', one, { policy: { gates: { before } } }), one)
    const deploys = { ...run('rm', '-rf', '../other'), kind: 'deploy', labels: ['spends'] }
    expect(of(deploys)).toBe('deploy')
    expect(asked(deploys, 'delete')).toBe('delete')
    expect(asked(deploys, 'spend')).toBe('spend')
    expect(asked(deploys, 'push')).toBe(null)
    const both = script('git push && rm -rf /data')
    expect(of(both)).toBe('delete')
    expect(asked(both, 'push')).toBe('push')
    expect(asked(script('kubectl apply -f x; dropdb shop'), 'delete')).toBe('delete')
    expect(asked(task('a', { kind: 'deploy', write: ['AGENTS.md'] }), 'instructions')).toBe('instructions')
  })

  it('is looked at once for each definition, and anew in another plan', () => {
    const one = external('a', { kind: 'deploy' })
    expect(of(one)).toBe('deploy')
    const scoped = task('b', { write: ['x'] })
    expect([of(scoped, { write: ['y'] }), of(scoped, { write: ['x'] })]).toEqual(['outside', null])
  })
})
