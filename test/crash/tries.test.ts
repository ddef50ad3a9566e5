// Best of N, killed around each of its commits and then resumed: the same try wins, tries that were recorded do not run again, and no
// folder, process, worktree or branch is left.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { command } from './command.ts'
import { endAll, Ground, inParallel } from './harness.ts'
import { ALL } from './kill-points.ts'

const PLAN = `planfold: 1
name: race
tasks:
  - id: fix
    run: |
      cat lib/three/index.js >/dev/null
      echo "$PLANFOLD_TRY" > src/who.txt
      for i in $(seq $((4 - PLANFOLD_TRY))); do echo more >> src/a.txt; done
      sleep 0.05
    write: ['src/**']
    network: []
    tries: 3
    accept: [{ check: "test \\"$(cat src/who.txt)\\" != 3" }]
`

afterEach(endAll)

function begin(kind: 'repository' | 'folder'): Ground {
  const ground = new Ground(PLAN)
  for (const path of ['src', 'lib/three']) mkdirSync(ground.path(path), { recursive: true })
  ground.write('src/a.txt', 'first\n')
  ground.write('lib/three/index.js', 'module.exports = 3\n')
  ground.write('.gitignore', '.planfold/\n')
  if (kind === 'folder') return ground
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '.'],
    ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'x'],
  ])
    execFileSync('git', args, { cwd: ground.workspace })
  ground.write('src/a.txt', 'first\nuncommitted\n')
  return ground
}

const git = (ground: Ground, ...args: string[]): readonly string[] =>
  execFileSync('git', args, { cwd: ground.workspace, encoding: 'utf8' }).trim().split('\n')

/** Processes with the marks of an attempt in this workspace. */
const processesOf = (ground: Ground): readonly string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      const text = readFileSync(`/proc/${pid}/environ`, 'utf8')
      return text.includes(`PLANFOLD_KEY=${ground.plan()}/`)
    } catch {
      return false
    }
  })

async function finish(ground: Ground, kind: 'repository' | 'folder'): Promise<void> {
  const { code, out, err } = await command(
    ground,
    existsSync(ground.path('.planfold')) ? ['resume', 'race'] : ['run', '../plan.yaml'],
  )
  expect([0, 3], `${out}${err}`).toContain(code)
  expect(ground.text('src/who.txt')).toBe('2\n')
  expect(ground.text('src/a.txt')).toBe(`first\n${kind === 'repository' ? 'uncommitted\n' : ''}more\nmore\n`)
  const ended = ground.events('race.tried').map(({ number, ended }) => `${number} ${ended}`)
  expect(ended.toSorted()).toEqual(['1 passed', '2 passed', '3 failed'])
  expect(ground.events('race.judged')).toMatchObject([{ best: { round: 1, number: 2 } }])
  expect(ground.has('.planfold/tries')).toBe(false)
  expect(processesOf(ground)).toEqual([])
  if (kind === 'repository') {
    expect(git(ground, 'worktree', 'list')).toHaveLength(1)
    expect(git(ground, 'branch', '--list')).toEqual(['* main'])
    expect(git(ground, 'status', '--porcelain').toSorted()).toEqual(['?? src/who.txt', 'M src/a.txt'].toSorted())
  }
  expect((await command(ground, ['audit', 'replay', 'race'])).code).toBe(0)
  ground.remove()
}

describe('a race', () => {
  // Created, started, begun, three tries, judged, applied, settled.
  const commits = ALL ? [3, 4, 5, 6, 7, 8, 9, 10, 11] : [9]
  for (const kind of ALL ? (['repository', 'folder'] as const) : (['repository'] as const))
    test(`that is killed at any commit ends the same, in a ${kind}`, async () => {
      const kills = await inParallel(
        commits
          .flatMap(k => (ALL ? ['before', 'after'] : ['after']).map(moment => `${moment}:${k}`))
          .map(at => async () => {
            const ground = begin(kind)
            const { signal } = await ground.runPlan({ PLANFOLD_FAILPOINT: `store.commit:${at}` }).end()
            await finish(ground, kind)
            return signal === 'SIGKILL' ? 1 : 0
          }),
      )
      expect(kills.reduce((sum: number, kill) => sum + kill, 0)).toBeGreaterThanOrEqual(commits.length)
    })
})
