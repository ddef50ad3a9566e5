// A file that another task replaces while the sandbox of a command is made.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bubblewrap } from '../../safety/sandbox/bubblewrap.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import type { Sandbox } from '../../safety/sandbox/sandbox.ts'
import { setup } from '../attempt.fixture.ts'
import { processTree } from './process-tree.ts'
import { runRunner } from './run-runner.ts'

/** A real sandbox in which `other.txt` is gone between the choice of the mounts and the mount, the first `times` times. */
function setUpRace(times: number) {
  const { root, tools, attempt, going } = setup()
  const other = join(root, 'other.txt')
  writeFileSync(join(root, 'own.txt'), 'own\n')
  const real = bubblewrap({ environment: { PATH: process.env.PATH, HOME: process.env.HOME }, outside: [] })
  let made = 0
  const room: Sandbox = {
    ...real,
    wrap: async request => {
      writeFileSync(other, 'another task wrote it\n')
      const wrapped = await real.wrap(request)
      if (++made <= times) rmSync(other)
      return wrapped
    },
  }
  const lines: string[] = []
  const run = () =>
    runRunner({ tree: processTree() }).attempt(
      attempt({
        type: 'run',
        command: { argv: ['sh', '-c', 'cat own.txt other.txt; echo ran >> own.txt; cat own.txt'] },
      }),
      {
        ...tools,
        write: ['own.txt'],
        sandbox: { room, network: 'none', isRequired: true },
        log: (stream, chunk) => void (stream === 'engine' && lines.push(String(chunk))),
      },
      going,
    )
  return { run, lines, made: () => made }
}

heldTest('the sandbox is made again, and the command runs once', async () => {
  const { run, lines, made } = setUpRace(1)
  const stdout = 'own\nanother task wrote it\nown\nran\n'
  expect(await run()).toMatchObject({ type: 'exited', exit: 0, stdout })
  expect(made()).toBe(2)
  expect(lines.filter(line => line.startsWith('a file was replaced'))).toHaveLength(1)
})

heldTest('where it happens each time, the attempt fails after three tries, and nothing ran', async () => {
  const { run, made } = setUpRace(99)
  expect(await run()).toMatchObject({ type: 'failed', failure: { code: 'mount-replaced' }, begun: false })
  expect(made()).toBe(3)
})
