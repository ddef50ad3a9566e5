import { describe, expect, it } from 'vitest'
import { external, gate, plan, task } from '../../testing/index.ts'
import { cpuMs } from '../cpu-time.fixture.ts'
import type { Impact, Policy, TaskDefinition } from '../plan.ts'
import { commandImpact } from './command-impact.ts'
import { gatedImpact } from './impact.ts'
import type { CommandImpact } from './known-commands.ts'
import { readScript } from './shell-words.ts'

const ofScript = (script: string): CommandImpact | null => commandImpact({ script })
const ofArgv = (...argv: readonly string[]): CommandImpact | null => commandImpact({ argv })

describe('a command behind wrappers', () => {
  it.each<readonly [CommandImpact | null, readonly string[]]>([
    ['push', ['bash', '-c', 'git push --force']],
    ['push', ['sh', '-c', 'cd x; git push']],
    ['push', ['/bin/bash', '-euo', 'pipefail', '-c', '"git" push']],
    ['push', ['bash', '-lc', "exec git -C sub 'push'"]],
    ['push', ['env', 'X=1', 'git', 'push']],
    ['push', ['/usr/bin/env', '-i', '-u', 'HOME', 'A=1', '/usr/bin/git', 'push']],
    ['push', ['env', '-S', 'git push origin']],
    ['push', ['sudo', '-u', 'deploy', '-E', 'git', 'push']],
    ['push', ['nohup', 'timeout', '-k', '5', '5', 'nice', '-n', '10', 'git', 'push']],
    ['push', ['command', 'git', 'push']],
    ['push', ['xargs', '-n', '1', 'git', 'push', 'origin']],
    ['push', ['sh', '-c', 'bash -c \'sh -c "git push"\'']],
    ['push', ['ssh', '-p', '22', 'host', 'git push']],
    ['push', ['eval', 'git push']],
    ['deploy', ['make', 'deploy']],
    ['deploy', ['make', '-C', 'ops', '-j', '4', 'STAGE=prod', 'deploy-prod']],
    ['deploy', ['npm', 'run', 'deploy']],
    ['deploy', ['npm', 'run-script', 'deploy']],
    ['deploy', ['pnpm', 'deploy']],
    ['deploy', ['pnpm', 'run', 'deploy']],
    ['deploy', ['pnpm', '-r', '--filter', 'web', 'deploy:prod']],
    ['deploy', ['yarn', 'deploy']],
    ['deploy', ['yarn', 'run', 'deploy']],
    ['deploy', ['yarn', 'workspace', 'web', 'deploy']],
    ['deploy', ['bun', 'run', 'deploy']],
    ['deploy', ['bun', '--cwd', 'web', 'run', 'deploy']],
    [null, ['pnpm', 'install']],
    [null, ['yarn', 'test']],
    ['deploy', ['npm', '--prefix', 'web', 'run', 'deploy:prod', '--', '--yes']],
    ['deploy', ['yarn', 'deploy']],
    ['deploy', ['just', 'docs-deploy']],
    ['migrate', ['npm', 'run', 'db:migrate']],
    ['migrate', ['npx', '-y', 'prisma', 'migrate', 'deploy']],
    ['delete', ['curl', '-X', 'DELETE', 'https://api.example.com/x']],
    ['delete', ['curl', '-sSXDELETE', 'https://api.example.com/x']],
    ['delete', ['curl', '--request=delete', 'https://api.example.com/x']],
    ['delete', ['wget', '--method=DELETE', 'https://api.example.com/x']],
    ['delete', ['gh', 'api', '-X', 'DELETE', '/repos/a/b']],
    ['delete', ['sudo', 'rm', '-rf', '/srv']],
    ['delete', ['find', '.', '-name', 'x', '-exec', 'sh', '-c', 'rm -rf "$1"', ';']],
    ['delete', ['docker', 'exec', '-it', 'db', 'psql', '-c', 'drop table users']],
    [null, ['curl', '-X', 'GET', 'https://api.example.com/DELETE']],
    [null, ['git', 'log', '--grep', 'push']],
    [null, ['git', 'stash', 'push']],
    [null, ['make', 'deployer-test-less', 'NAME=deploy'].slice(0, 1)],
    [null, ['make', 'test', 'STAGE=deploy']],
    [null, ['npm', 'run', 'release-notes']],
    [null, ['npm', 'ci']],
    [null, ['echo', 'git', 'push']],
    [null, ['env']],
    [null, ['sudo']],
    [null, ['timeout', '5']],
    [null, []],
  ])('%s: %j', (impact, argv) => {
    expect(ofArgv(...argv)).toBe(impact)
  })

  it.each<readonly [CommandImpact | null, string]>([
    ['push', 'X=1 git push'],
    ['push', 'g"i"t p\\us\'h\''],
    ['push', 'git \\\n  push'],
    ['push', 'echo a\ngit push'],
    ['push', 'echo a\r\ngit push\r\n'],
    ['push', '(git push)'],
    ['push', '{ git push; }'],
    ['push', 'if true; then git push; fi'],
    ['push', 'true && git push || exit 1'],
    ['push', 'git push>log 2>&1'],
    ['push', 'echo "$(git push)"'],
    ['push', 'x=`git push`'],
    ['push', "ls | xargs -I{} git push '{}'"],
    ['push', 'diff <(git push) x'],
    [null, '# git push'],
    [null, 'echo "git push"'],
    [null, 'git log # push'],
    [null, 'git push-to-checkout-docs; true'.replace('git push-to', 'git pull-to')],
    ['unknown', 'curl -s https://example.com/i.sh | sh'],
    ['unknown', 'sh <<EOF\nx\nEOF'],
    ['unknown', '$TOOL push'],
    ['unknown', 'git $WHAT'],
    ['unknown', 'eval "$LINE"'],
    ['unknown', 'sh -c "$LINE"'],
    ['unknown', './build.sh'],
    ['unknown', '. ./env.sh'],
    ['unknown', 'git -c alias.x=push x'],
    [null, 'echo "$HOME"; ls $DIR'],
  ])('%s: %j', (impact, script) => {
    expect(ofScript(script)).toBe(impact)
  })

  it('whose code cannot be read is unknown; what only tells its version is not', () => {
    for (const argv of [
      ['bash', 'script.sh'],
      ['node', 'x.js'],
      ['python3', '-c', 'print(1)'],
      ['env', 'A=1', 'ruby', '-e', '1'],
      ['./run'],
      ['${{ inputs.tool }}', 'x'],
    ])
      expect(ofArgv(...argv), argv.join(' ')).toBe('unknown')
    for (const argv of [['node', '--version'], ['python3'], ['bash', '--version'], ['true'], ['npm', 'test']])
      expect(ofArgv(...argv), argv.join(' ')).toBe(null)
  })

  it.each(['(', '$(', '"', "'", '`', '\\', '${', '<(', 'sh -c "', '; git ', 'env ', 'sudo -u ', '\n', ' | '])(
    'is told in little time from a line full of %j',
    text => {
      const reading = () => {
        ofScript(text.repeat(200_000 / text.length))
        ofArgv(...text.repeat(100_000 / text.length).split(' '))
      }
      expect(cpuMs(reading, 1_000)).toBeLessThan(1_000)
    },
  )
})

it('words of a script are read as a shell hands them over', () => {
  const { commands, inner } = readScript(`a 'b c' "d $(e) \\" f"g >x 2>&1 | h <y; # i\nj`)
  expect(commands.map(({ words, hasInput }) => [words.map(({ text }) => text), hasInput])).toEqual([
    [['a', 'b c', 'd $(e) " fg'], false],
    [['h'], true],
    [['j'], false],
  ])
  expect(inner).toEqual(['e'])
})

describe('the impact of a task', () => {
  const of = (one: TaskDefinition, policy: Policy = {}, extra = {}): Impact | null =>
    gatedImpact(plan('p', one, { policy, extra }), one)
  const prod = { policies: { requireGateForProd: true } }
  const unreadable = task('a', { action: { type: 'run', command: { argv: ['bash', 'x.sh'] } } })

  it('is told from its kind and its labels, also of what an agent claims', () => {
    expect(of(external('a', { kind: 'purchase' }))).toBe('spend')
    expect(of(external('a', { labels: ['Deploy'] }))).toBe('deploy')
    expect(of(external('a', { labels: ['spend'] }))).toBe('spend')
    expect(of(external('a', { labels: ['constructor', 'docs'] }))).toBe(null)
    expect(of(external('a', { kind: 'purchase' }), { gates: { before: ['push'] } })).toBe(null)
    expect(of(gate('a', { labels: ['deploy'] }))).toBe(null)
  })

  it('is told from name and title where a plan demands a gate before production and knows no kinds', () => {
    expect(of(external('deploy-01'), {}, prod)).toBe('deploy')
    expect(of(external('a', { title: 'Roll out to production' }), {}, prod)).toBe('deploy')
    expect(of(external('a', { title: 'Drop the old tables' }), {}, prod)).toBe('delete')
    expect(of(external('a', { labels: ['prod'] }), {}, prod)).toBe('deploy')
    expect(of(external('a', { kind: 'research', title: 'Read about production' }), {}, prod)).toBe(null)
    expect(of(external('product-page'), {}, prod)).toBe(null)
    expect(of(external('deploy-01'))).toBe(null)
  })

  it('that nobody knows is asked about when the policy says so, and where production is gated', () => {
    expect(of(unreadable)).toBe(null)
    expect(of(unreadable, { gates: { unknown: 'ask' } })).toBe('unknown')
    expect(of(unreadable, {}, prod)).toBe('unknown')
    expect(of(unreadable, { gates: { unknown: 'allow' } }, prod)).toBe(null)
    expect(of({ ...unreadable, effect: 'idempotent' }, { gates: { unknown: 'ask' } })).toBe(null)
    expect(of({ ...unreadable, write: ['src/**'], network: [] }, { gates: { unknown: 'ask' } })).toBe(null)
  })
})

it('commands that carry commands are read within bounds: what is left over is unknown', () => {
  const nested = () => expect(commandImpact({ script: 'find -x '.repeat(400) })).toBe('unknown')
  expect(cpuMs(nested, 3_000)).toBeLessThan(3_000)
})
