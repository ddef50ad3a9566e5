// Adopting a fork with the command line: what a person sees, and SIGKILL at many moments of the built command.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import { environmentIn, MAIN, type Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const PLAN = `planfold: 1
name: release
tasks:
  - { id: build, run: "echo built > out; seq 40 > many" }
  - { id: pack, needs: [build], inputs: { level: 1 }, run: 'echo "packed $PLANFOLD_INPUTS" > level-$(echo $PLANFOLD_INPUTS | tr -dc 0-9); for i in $(seq 30); do echo $i > f$i; done' }
`

const shell = (script: string): string =>
  execFileSync('sh', ['-c', script], {
    cwd: here.folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: here.folder, GIT_CONFIG_GLOBAL: '/dev/null' },
  }).trim()

async function forked(): Promise<void> {
  shell('git init -q && printf ".planfold/\\n" > .gitignore && git add . ')
  shell('git -c user.name=a -c user.email=a@example.com commit -qm first')
  await here.write('plan.yaml', PLAN)
  expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
  const made = await here.planfold('fork', 'release', '--from', 'build', '--input', 'pack.level=9', '--start')
  expect(made, made.stderr).toMatchObject({ exit: 0 })
}

const folder = () => join(here.folder, '.planfold', 'work', 'release-fork')

describe('planfold fork adopt', () => {
  it('shows the diff, asks where both sides changed, removes the worktree, and undo takes it back', async () => {
    await forked()
    shell(`echo "by hand" >> .planfold/work/release-fork/out && echo "here too" >> out`)
    const asked = await here.planfold('fork', 'adopt', 'release-fork')
    expect(asked.exit).toBe(3)
    expect(asked.stdout).toMatch(/^adopt the work of release-fork into release\n/)
    expect(asked.stdout).toMatch(/ {2}! change {3}out {2}also changed here since the fork was made\n/)
    expect(asked.stdout).toMatch(/ {2}files {5}2 paths, 1 of them changed here as well, 30 already the same here\n/)
    expect(asked.stdout).toContain('+by hand')
    expect(asked.stdout).toContain('diff      what the fork changed since it was made')
    expect(asked.stdout).toContain('planfold fork adopt release-fork --merge out')
    expect([await here.read('out'), existsSync(folder())]).toEqual(['built\nhere too\n', true])

    const taken = await here.planfold('fork', 'adopt', 'release-fork', '--take', 'out')
    expect(taken, taken.stderr).toMatchObject({ exit: 0 })
    expect(taken.stdout).toMatch(/✔ release-fork: adopted into release; \d+ paths? changed\n/)
    expect(taken.stdout).toContain('folder    worktree removed; its files are stored')
    expect([await here.read('out'), await here.read('level-9')]).toEqual(['built\nby hand\n', 'packed {"level":9}\n'])
    expect([existsSync(folder()), shell('git worktree list | wc -l')]).toEqual([false, '1'])

    expect((await here.planfold('undo', 'files', 'release')).stdout).toMatch(
      / {2}out {2}replaced .* by adopting a fork$/m,
    )

    const undone = await here.planfold('undo', 'release')
    expect(undone.stdout).toMatch(/^undo the adoption of release-fork in release /)
    expect((await here.planfold('log', 'release')).stdout).toContain('undoing the adoption of release-fork')
    expect([await here.read('out'), existsSync(join(here.folder, 'level-9'))]).toEqual(['built\nhere too\n', false])
  })

  it('where both versions do not merge, names the commands that choose one, and says why yours is kept', async () => {
    await forked()
    await here.write('level-9', 'mine\n')
    const merged = await here.planfold('fork', 'adopt', 'release-fork', '--merge', 'all')
    expect(merged.exit).toBe(1)
    expect(merged.stdout).toContain('worktree kept: 1 of its paths is not adopted yet')
    expect(merged.stdout).toContain('kept      level-9: the edits do not merge cleanly')
    expect(merged.stdout).toMatch(
      /\nchoose:\n {2}planfold fork adopt release-fork --keep level-9\n.*\n {2}planfold fork adopt release-fork --take level-9\n.*\n$/,
    )
    const kept = await here.planfold('fork', 'adopt', 'release-fork', '--keep', 'level-9')
    expect(kept.exit).toBe(0)
    expect(kept.stdout).toContain(
      'kept      level-9: your version is kept, because both sides created it and you chose so',
    )
    expect(kept.stdout).not.toContain('choose:')
    expect(await here.read('level-9')).toBe('mine\n')
  })

  it('nothing unadopted is tidied away: prune --archive keeps the fork and the plan it came from until then', async () => {
    await forked()
    const prune = async (...more: string[]) => await here.json('prune', '--archive', '--before', '1ms', ...more)
    const kept = { archived: [], unadopted: ['release-fork'], plans: 0 }
    expect(await prune('--dry-run')).toMatchObject(kept)
    expect(await prune()).toMatchObject(kept)
    const told = await here.planfold('prune', '--archive', '--before', '1ms')
    expect(told.stdout).toContain(
      'release-fork is a fork with unmerged work and was not archived. Next: planfold fork adopt release-fork',
    )
    expect(existsSync(join(folder(), 'level-9'))).toBe(true)
    expect(await here.planfold('fork', 'adopt', 'release-fork', '--take', 'all')).toMatchObject({ exit: 0 })
    const done = (await prune()) as { archived: string[] }
    expect({ ...done, archived: done.archived.toSorted() }).toMatchObject({
      archived: ['release', 'release-fork'],
      unadopted: [],
    })
    // What the adoption replaced can still be restored, so the plan it went into stays for a while.
    expect(await prune()).toMatchObject({ archived: [], plans: 1, held: 1 })
    expect(await here.read('level-9')).toBe('packed {"level":9}\n')
  })

  it('killed at any moment and ordered again, everything is adopted once and nothing is lost', async () => {
    await forked()
    await here.write('mine.txt', 'mine\n')
    // Every file differs from what stands here, so that there is much to do.
    shell('cd .planfold/work/release-fork && for i in $(seq 30); do echo fork > f$i; done && echo fork > out')
    const adopt = [MAIN, 'adopt', 'release-fork', '--take', 'all']
    let kills = 0
    // Around its first commit, where contents are stored, and around later commits of those that go on.
    const later = [2, 3, 4].flatMap(k => [`store.commit:before:${k}`, `store.commit:after:${k}`])
    for (const at of ['store.commit:before:1', 'store.commit:after:1', 'pack.rename:before:1', ...later]) {
      const env = { ...environmentIn(here.folder, {}), PLANFOLD_FAILPOINT: at }
      const { signal, status, stderr } = spawnSync(process.execPath, adopt, { cwd: here.folder, env, encoding: 'utf8' })
      // Everything is adopted: there is no later moment.
      if (status === 0) break
      expect([at, signal, stderr]).toEqual([at, 'SIGKILL', expect.any(String)])
      kills++
    }
    expect(kills).toBeGreaterThan(3)
    const last = await here.planfold('fork', 'adopt', 'release-fork', '--take', 'all')
    expect(last, last.stderr + last.stdout).toMatchObject({ exit: 0 })
    expect(shell('cat out f1 f30 level-9 mine.txt')).toBe('fork\nfork\nfork\npacked {"level":9}\nmine')
    expect([existsSync(folder()), shell('git worktree list | wc -l')]).toEqual([false, '1'])
    const { items } = (await here.json('log', 'release')) as { items: { type: string }[] }
    expect(items.filter(({ type }) => type === 'rollback.finished')).toHaveLength(1)
    expect(await here.planfold('doctor', 'store', '--read-data')).toMatchObject({ exit: 0 })
  })
})
