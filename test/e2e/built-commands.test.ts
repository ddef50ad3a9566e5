// Every command is in the built program, with all that it loads: each is called once, in one process, and ends with the exit code written here.
// What they do is tested elsewhere, mostly without a build.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { buildProgram } from '../../src/cli/program.ts'
import { extraCommands } from '../../src/extras.ts'
import { environmentIn, MAIN, place, type Said } from './planfold.fixture.ts'

const EXTRAS = await extraCommands()

/** As one types them, in this order, in a folder with `plan.yaml`, and how they end. */
const LINES: readonly (readonly [exit: number, line: string])[] = [
  [0, 'init'],
  [0, 'validate plan.yaml'],
  [0, 'show plan.yaml --analysis'],
  [0, 'graph plan.yaml --mermaid'],
  [4, 'run plan.yaml'],
  [0, 'status work'],
  [0, 'show work'],
  [0, 'list'],
  [0, 'log work'],
  [0, 'next work'],
  [0, 'inbox list'],
  [2, 'inbox answer none yes'],
  [2, 'answer work none yes'],
  [0, 'answer work --all'],
  [0, 'claim work agent --lease 5m'],
  [3, 'claim work agent --extend --token wrong'],
  [0, 'log work --add -m words'],
  [0, 'ask work agent what?'],
  [3, 'report work agent --status done --token wrong'],
  [0, 'claim work agent --release'],
  [0, 'report work agent --status failed --message cannot'],
  [0, 'retry work agent'],
  [0, 'report work agent --status failed -m cannot'],
  [0, 'skip work agent -m unneeded'],
  [3, 'answer work ok keep'],
  [0, 'answer work ok --push-back -m again'],
  [0, 'pause work'],
  [4, 'resume work'],
  [0, 'approve work ok'],
  [3, 'reject work ok -m no'],
  [3, 'cancel work'],
  [0, 'halt'],
  [0, 'halt --lift'],
  [2, 'plan'],
  [2, 'do'],
  [0, 'list --goals'],
  [0, 'template list'],
  [2, 'template show none'],
  [2, 'template new none'],
  [0, 'template save work --name kept'],
  [0, 'agents list'],
  [2, 'agents test none'],
  [2, 'agents allow none'],
  [2, 'agents install none'],
  [2, 'hook none'],
  [0, 'prime work'],
  [3, 'revise work none.yaml'],
  [0, 'revise list work'],
  [0, 'revise show work 1'],
  [0, 'revise diff work 1'],
  [3, 'revise work none.yaml --propose -m better'],
  [2, 'plan --replan none'],
  [0, 'inbox proposals work'],
  [2, 'approve work'],
  [2, 'reject work -m no'],
  [0, 'status work --drift'],
  [2, 'converge none.yaml'],
  [0, 'checkpoint work --name here'],
  [0, 'checkpoint list work'],
  [2, 'checkpoint show work none'],
  [2, 'checkpoint diff work none'],
  [2, 'checkpoint cat work none'],
  [2, 'undo files work none'],
  [0, 'rollback work --yes --force'],
  [0, 'undo work'],
  [0, 'audit replay work'],
  [0, 'show work --compare work'],
  [2, 'fork work --from none'],
  [2, 'fork adopt none'],
  [0, 'summary work --form pr'],
  [2, 'bisect false'],
  [0, 'audit show work'],
  [0, 'audit verify work'],
  [3, 'audit seal work --key-file none'],
  [0, 'summary'],
  [0, 'show work --checks'],
  [0, 'summary work --form handoff'],
  [0, 'serve token create reader --role viewer'],
  [0, 'serve token list'],
  [0, 'serve token revoke reader'],
  [3, 'serve token link'],
  [0, 'models list'],
  [1, 'models test nobody/x'],
  [0, 'models usage'],
  [0, 'policy show work'],
  [3, 'policy allow command true'],
  [3, 'policy ask command true'],
  [3, 'policy deny command true'],
  [2, 'policy remove command true'],
  [0, 'policy log'],
  [0, 'budget show work'],
  [3, 'budget add work --attempts 1'],
  [0, 'secrets list'],
  [2, 'secrets set NAME'],
  [2, 'secrets remove NAME'],
  [0, 'export --schema'],
  [0, 'doctor store'],
  [0, 'doctor'],
  [0, 'doctor capabilities'],
  [0, 'import --formats'],
  [0, 'export work'],
  [2, 'import none.md'],
  [0, 'prune --archive --dry-run'],
  [0, 'completion bash'],
  [0, 'names plan'],
  [0, 'top'],
  [0, 'why out.txt'],
  [0, 'memory set region eu-west'],
  [0, 'memory get region'],
  [0, 'memory search eu'],
  [0, 'memory forget region'],
  [0, 'memory decisions work'],
  [0, 'memory lessons'],
  [2, 'memory propose work@99'],
  [0, 'artifact list work'],
  [2, 'artifact get work/first/none'],
  [2, 'artifact put work/first/none none.txt'],
  [0, 'artifact export work --out given'],
  [2, 'artifact import none'],
  [0, 'help run'],
]
/**
 * Those that go on until they are stopped, as `serve` does, and those for databases and backups: `mcp.test.ts`, `serve.test.ts`,
 * `teams.test.ts` and `backup.test.ts` start them.
 */
const ELSEWHERE = ['worker', 'mcp', 'migrate', 'backup create', 'backup verify', 'backup restore', 'copy']

const PLAN = `planfold: 1
name: work
tasks:
  - { id: first, edit: [{ file: out.txt, create: "out\\n" }] }
  - { id: ok, needs: [first], gate: approval }
  - { id: agent }
`

test('every command is in the built program', async () => {
  const here = await place()
  try {
    await here.write('plan.yaml', PLAN)
    const { stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'built-commands.mjs'), MAIN], {
      cwd: here.folder,
      env: environmentIn(here.folder, {}),
      input: LINES.map(([, line]) => `${JSON.stringify(line.split(' '))}\n`).join(''),
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    const said = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Said)
    // What a command said is there to read when it ends otherwise.
    const ends = LINES.map(([exit, line], at) => [said[at]?.exit, line, said[at]?.exit === exit ? '' : said[at]])
    expect(ends).toEqual(LINES.map(([exit, line]) => [exit, line, '']))
  } finally {
    await here.remove()
  }
})

test('a folder that was removed meanwhile is said in words', async () => {
  const here = await place()
  try {
    const gone = `mkdir gone && cd gone && rmdir ../gone && "${process.execPath}" "${MAIN}" list`
    const said = spawnSync('sh', ['-c', gone], {
      cwd: here.folder,
      env: environmentIn(here.folder, {}),
      encoding: 'utf8',
    })
    expect([said.status, said.stderr]).toEqual([
      1,
      'error: the current folder no longer exists\nhint: go to one that does: cd ~\n',
    ])
  } finally {
    await here.remove()
  }
})

test('none is left out', () => {
  const named = (command: Command, words: readonly string[]): readonly string[] =>
    command.commands.length === 0
      ? [words.join(' ')]
      : command.commands.flatMap(part => named(part, [...words, part.name()]))
  const called = (name: string) => LINES.some(([, line]) => line === name || line.startsWith(`${name} `))
  const all = named(
    buildProgram('0.0.0', EXTRAS, async () => {}),
    [],
  )
  expect(all.filter(name => !called(name))).toEqual(ELSEWHERE)
})
