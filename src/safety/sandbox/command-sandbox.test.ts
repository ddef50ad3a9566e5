import { expect, test } from 'vitest'
import { runsOutside } from './command-sandbox.ts'

test.each([
  [['git', 'push'], true],
  [['git', 'push', '-u', 'origin', 'main'], true],
  [['git', 'push', 'origin', '+HEAD:refs/heads/x'], true],
  [['git', 'fetch', '--tags', 'https://example.org/a.git'], true],
  [['git', 'push', '--receive-pack=./x', 'origin'], false],
  [['git', 'fetch', '--upload-pack', './x', 'origin'], false],
  [['git', '-c', 'core.sshCommand=./x', 'push'], false],
  [['git', 'push', 'ext::sh -c x'], false],
  [['git', 'push', 'ext::./x'], false],
  [['git', 'push', '--exec=./x'], false],
  [['git', 'commit', '-m', 'x'], false],
  [['./git', 'push'], false],
  [['sh', '-c', 'git push'], false],
  [['git', 'push', 'origin', '-o'], false],
] as const)('%j runs outside the sandbox: %s', (argv, outside) => {
  expect(runsOutside(argv)).toBe(outside)
})
