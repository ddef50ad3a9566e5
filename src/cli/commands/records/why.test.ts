// Why a line is there, from the command line.

import { expect, it } from 'vitest'
import { heldTest } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import { eachPlace } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { why } from './why.ts'

const place = eachPlace()

heldTest(
  'a line is explained by the task that wrote it and the command that undoes it, with foreign text escaped',
  async () => {
    await place.write(
      'made.yaml',
      `planfold: 1
name: made
tasks:
  - { id: write, title: "Ship \\e[2J it", run: 'printf "a\\nb\\n" > a.txt', write: [a.txt], network: [], accept: [{ check: test -s a.txt }] }
`,
    )
    await place.say(context => run(context, 'made.yaml', { start: true }))
    const asked = await place.say(context => why(context, 'a.txt:2'))
    expect(asked.stdout.split('\n')).toMatchObject([
      'a.txt',
      expect.stringMatching(/^line 2: task write of plan made, attempt 1, by Planfold \(run\), /),
      '  title: Ship \\u{1b}[2J it',
      '  passed: test -s a.txt',
      '  undo: planfold rollback made --tasks write',
      '',
    ])
    await place.write('a.txt', 'a\nmine\n')
    expect((await place.say(context => why(context, 'a.txt'))).stdout).toMatch(
      /^line 1: task write .*\nline 2: changed by hand after task write of plan made /m,
    )
  },
)

it('a file outside the workspace, and one that is not there, are refused', async () => {
  expect((await place.say(context => why(context, '../x'))).stderr).toContain('outside the workspace')
  expect((await place.say(context => why(context, 'never.txt'))).stderr).toContain("there is no file 'never.txt'")
})
