// The worktree in which commits are tried: ours alone, and gone without a trace.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { busySetup, fingerprint, no, OTHER_PLAN, PLAN, shell, value } from './repository.fixture.ts'

describe('a scratch worktree', () => {
  test('has one commit after the other, whatever stands there, and leaves everything else byte-identical', async () => {
    const { git, sh, root, base } = busySetup()
    const first = sh('rev-parse', 'HEAD')
    const second = sh('commit-tree', '-p', 'HEAD', '-m', 'second', 'stash@{0}^{tree}')
    sh('tag', 'second', second)
    const before = fingerprint(root)
    const path = join(base, 'scratch-here')
    const at = (...args: string[]) => shell(path, base, ...args)
    expect(value(await git.checkOutScratch({ plan: PLAN, path, commit: 'second' }))).toEqual({
      commit: second,
      workspace: path,
    })
    expect([at('rev-parse', 'HEAD'), fs.readFileSync(join(path, 'c.txt'), 'utf8')]).toEqual([second, 'stashed\n'])
    expect(() => at('symbolic-ref', 'HEAD')).toThrow()
    fs.writeFileSync(join(path, 'c.txt'), 'written over by a try')
    fs.writeFileSync(join(path, 'built'), 'stays between tries')
    value(await git.checkOutScratch({ plan: PLAN, path, commit: first }))
    expect([fs.readFileSync(join(path, 'c.txt'), 'utf8'), fs.existsSync(join(path, 'built'))]).toEqual(['c\n', true])
    expect(value(await git.listWorktrees(PLAN))).toEqual([])
    expect(value(await git.removeScratch({ plan: PLAN, path }))).toEqual({ removed: true })
    expect(value(await git.removeScratch({ plan: PLAN, path }))).toEqual({ removed: false })
    expect(fs.existsSync(path)).toBe(false)
    expect(fingerprint(root)).toEqual(before)
  })

  test('is never a folder or worktree of somebody else', async () => {
    const { git, sh, base } = busySetup()
    const [mine, full] = [join(base, 'mine'), join(base, 'full')]
    sh('worktree', 'add', '--quiet', '--detach', mine)
    fs.writeFileSync(join(mine, 'a.txt'), 'not committed')
    expect(no(await git.checkOutScratch({ plan: PLAN, path: mine, commit: 'HEAD' }))).toMatch(/another worktree/)
    expect(no(await git.removeScratch({ plan: PLAN, path: mine }))).toMatch(/another worktree/)
    expect(fs.readFileSync(join(mine, 'a.txt'), 'utf8')).toBe('not committed')
    fs.mkdirSync(full)
    fs.writeFileSync(join(full, 'x'), 'x')
    expect(no(await git.checkOutScratch({ plan: PLAN, path: full, commit: 'HEAD' }))).toMatch(/already exists/)
    const path = join(base, 'ours')
    value(await git.checkOutScratch({ plan: PLAN, path, commit: 'HEAD' }))
    expect(no(await git.checkOutScratch({ plan: OTHER_PLAN, path, commit: 'HEAD' }))).toMatch(/another worktree/)
    expect(no(await git.checkOutScratch({ plan: PLAN, path: 'relative', commit: 'HEAD' }))).toMatch(/absolute/)
    expect(no(await git.checkOutScratch({ plan: PLAN, path, commit: '--detach' }))).toMatch(/names no commit/)
  })

  test('is refused where a filter of the repository would have to run', async () => {
    const { git, sh, write, base } = busySetup()
    write('.gitattributes', 'a.txt filter=evil\n')
    sh('add', '.gitattributes')
    sh('commit', '--quiet', '-m', 'with a filter')
    sh('config', 'filter.evil.smudge', `touch ${join(base, 'ran')}; cat`)
    expect(no(await git.checkOutScratch({ plan: PLAN, path: join(base, 's'), commit: 'HEAD' }))).toMatch(/filter evil/)
    expect([fs.existsSync(join(base, 'ran')), fs.existsSync(join(base, 's'))]).toEqual([false, false])
  })
})
