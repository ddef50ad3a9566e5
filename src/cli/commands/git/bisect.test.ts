// The search for the first bad one, as people type it: over commits in a scratch worktree, over switches, over inputs.

import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { bubblewrap } from '../../../safety/sandbox/bubblewrap.ts'
import { fingerprint, shell } from '../../../workspace/git/repository.fixture.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { type BisectOptions, bisect } from './bisect.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => await place.remove())

const git = (...args: string[]): string => shell(place.folder, place.folder, ...args)
async function search(command: readonly string[], options: BisectOptions) {
  const said = await place.say(context => bisect(context, command, options), { json: true })
  return { exit: said.exit, stderr: said.stderr, data: said.stdout === '' ? null : JSON.parse(said.stdout).data }
}
const verdicts = (data: { probes: { index: number; verdict: string }[] }) =>
  data.probes.map(({ index, verdict }) => [index, verdict])

/** A line of commits; the number in `n` turns bad at `culprit`. */
function history(length: number, culprit: number): void {
  git('init', '--quiet', '--initial-branch=main')
  fs.writeFileSync(join(place.folder, '.gitignore'), '.planfold/\n')
  git('add', '.gitignore')
  for (let at = 0; at < length; at++) {
    fs.writeFileSync(join(place.folder, 'n'), `${at}\n`)
    fs.writeFileSync(join(place.folder, 'state'), at >= culprit ? 'bad\n' : 'good\n')
    git('add', 'n', 'state')
    git('commit', '--quiet', '-m', `commit ${at}`)
  }
}

describe('over commits', () => {
  test('finds the culprit in a folder of its own and leaves everything else byte-identical', async () => {
    history(9, 6)
    fs.writeFileSync(join(place.folder, 'n'), 'mine, not committed\n')
    fs.writeFileSync(join(place.folder, 'untracked'), 'mine\n')
    const root = git('rev-list', '--max-parents=0', 'HEAD')
    const kept = () => [...fingerprint(place.folder)].filter(([path]) => !path.startsWith('/.planfold'))
    const before = kept()
    const { exit, data } = await search(['sh', '-c', 'echo x >> built; test "$(cat state)" = good'], { good: root })
    expect(exit).toBe(0)
    expect(data).toMatchObject({
      over: 'commits',
      candidates: 9,
      status: 'found',
      culprit: { index: 6, type: 'commit', subject: 'commit 6', commit: git('rev-parse', 'HEAD~2') },
    })
    expect(verdicts(data).slice(0, 2)).toEqual([
      [8, 'bad'],
      [0, 'good'],
    ])
    expect(data.probes.length).toBeLessThanOrEqual(5)
    expect(kept()).toEqual(before)
    expect(git('worktree', 'list').split('\n')).toHaveLength(1)
    expect(fs.readdirSync(join(place.folder, '.planfold/work'))).toEqual([])
    // The same question is answered from the journal.
    const again = await search(['sh', '-c', 'echo x >> built; test "$(cat state)" = good'], { good: root })
    expect([again.exit, again.data]).toEqual([0, data])
  })

  test('skips what cannot be told, and says so when only suspects are left', async () => {
    history(5, 3)
    const root = git('rev-list', '--max-parents=0', 'HEAD')
    const script = 'test "$(cat n)" = 2 && exit 125; test "$(cat n)" = 3 && exit 125; test "$(cat state)" = good'
    const { exit, data } = await search(['sh', '-c', script], { good: root, bad: 'main' })
    expect([exit, data.status]).toEqual([1, 'narrowed'])
    expect(data.suspects.map(({ subject }: { subject: string }) => subject)).toEqual([
      'commit 2',
      'commit 3',
      'commit 4',
    ])
  })

  test('does not take the ends for granted: a good one that is bad and a bad one that is good are said', async () => {
    history(4, 0)
    const say = (command: readonly string[]) =>
      place.say(context => bisect(context, command, { good: 'HEAD~3', bad: 'HEAD' }))
    const bad = await say(['sh', '-c', 'test "$(cat state)" = good'])
    expect([bad.exit, bad.stdout]).toEqual([1, expect.stringMatching(/^not good: .*--good:\n {2}\w+ commit 0\n$/)])
    const good = await say(['true'])
    expect([good.exit, good.stdout]).toEqual([1, expect.stringContaining('succeeds with the bad commit, too')])
  })

  test('refuses what is no range, and more than one question', async () => {
    expect(await search(['true'], { good: 'HEAD' })).toMatchObject({ exit: 'git' })
    history(3, 2)
    expect(await search(['true'], { good: 'HEAD', bad: 'HEAD' })).toMatchObject({ exit: 'usage' })
    expect(await search(['true'], { good: 'main', bad: 'HEAD~1' })).toMatchObject({ exit: 'git' })
    expect(await search(['true'], {})).toMatchObject({ exit: 'usage' })
    expect(await search(['true'], { good: 'HEAD~2', toggle: ['A=1'] })).toMatchObject({ exit: 'usage' })
  })

  test('never runs what the repository configures', async () => {
    history(4, 2)
    const marker = join(place.folder, '.git', 'ran')
    for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change'])
      fs.writeFileSync(join(place.folder, '.git/hooks', hook), `#!/bin/sh\necho ran >> ${marker}\n`, { mode: 0o755 })
    execFileSync('git', ['config', 'core.fsmonitor', join(place.folder, '.git/hooks/post-checkout')], {
      cwd: place.folder,
    })
    const { data } = await search(['sh', '-c', 'test "$(cat state)" = good'], { good: 'HEAD~3' })
    expect(data.culprit.subject).toBe('commit 2')
    expect(fs.existsSync(marker)).toBe(false)
  })
})

describe('over switches and inputs', () => {
  test('switches go on one after the other', async () => {
    const toggle = ['A=1', 'B=on', 'C=x=y', 'D=${{ no }}']
    const { exit, data } = await search(['sh', '-c', 'test "${C:-}" != "x=y"'], { toggle })
    expect([exit, data.status, data.culprit]).toEqual([
      0,
      'found',
      { index: 2, type: 'toggle', name: 'C', value: 'x=y' },
    ])
    expect(verdicts(data)[0]).toEqual([3, 'bad'])
    const none = await search(['sh', '-c', 'test "${D:-}" != z'], { toggle })
    expect([none.exit, none.data.status]).toEqual([1, 'clean'])
    expect(await search(['true'], { toggle: ['1A=x'] })).toMatchObject({ exit: 'usage' })
  })

  test('a script that changed since is another question', async () => {
    await place.write('cases', 'a\nb\nc\n')
    await place.write('check.sh', 'test "$1" = a')
    const ask = () => search(['sh', 'check.sh', '{}'], { inputs: 'cases' })
    const first = await ask()
    expect(first.data.culprit.input).toBe('b')
    expect((await ask()).data).toEqual(first.data)
    await place.write('check.sh', 'test "$1" != c')
    expect((await ask()).data.culprit.input).toBe('c')
  })

  test('an input takes the place of {}, and is in PLANFOLD_INPUT', async () => {
    await place.write('cases', 'a b\n$HOME; exit 1\n${{ tasks }}\nboom\nlast\n')
    const script = 'test "$1" = "$PLANFOLD_INPUT" || exit 0; case "$1" in boom|last) exit 3;; esac'
    const { data } = await search(['sh', '-c', script, 'sh', '{}'], { inputs: 'cases' })
    expect(data.culprit).toEqual({ index: 3, type: 'input', input: 'boom' })
    await place.write('empty', '\n\n')
    expect(await search(['true'], { inputs: 'empty' })).toMatchObject({ exit: 'usage' })
  })

  test('says that inputs are taken to be in order, and how many were not tried', async () => {
    await place.write('cases', 'a\nb\nbad\nd\n')
    const said = await place.say(context => bisect(context, ['test', '{}', '!=', 'bad'], { inputs: 'cases' }))
    expect(said.stdout).toBe(
      'nothing is bad (1 test of 4 candidates)\n3 were not tested: inputs are assumed to be in order, good ones first, and bad from the first bad one on\n',
    )
  })

  test('a command that cannot be run is no verdict; mended, the same words go on without repeating a try', async () => {
    await place.write('cases', 'a\nb\nc\nd\n')
    const script = join(place.folder, 'check')
    const options = { inputs: 'cases' }
    const missing = await search([script, '{}'], options)
    expect(missing).toMatchObject({ exit: 'probe-failed', stderr: expect.stringMatching(/could not be tested/) })
    fs.writeFileSync(script, '#!/bin/sh\necho "$1" >> tried\ntest "$1" = a\n', { mode: 0o755 })
    const { data } = await search([script, '{}'], options)
    expect(data.culprit).toMatchObject({ input: 'b' })
    const tried = await place.read('tried')
    expect(tried).toBe('d\nb\na\n')
    await search([script, '{}'], options)
    expect(await place.read('tried')).toBe(tried)
    const afresh = await search([script, '{}'], { ...options, again: true })
    expect(afresh.data.name).toMatch(/^bisect-[0-9a-f]{12}-2$/)
    expect(await place.read('tried')).toBe(`${tried}${tried}`)
  })

  test('interrupted, it goes on where it was', async () => {
    await place.write('cases', 'a\nb\nc\nd\ne\nf\ng\nh\n')
    const command = ['sh', '-c', 'echo "$0" >> tried; test "$0" \\< e', '{}']
    const first = await place.say(
      context => {
        let stop = () => {}
        const listening = {
          ...context,
          onSignal: (listener: (signal: 'SIGINT') => void) => {
            stop = () => listener('SIGINT')
            return () => {}
          },
        }
        const watching = setInterval(() => {
          if (
            fs.existsSync(join(place.folder, 'tried')) &&
            fs.readFileSync(join(place.folder, 'tried'), 'utf8').length >= 4
          )
            stop()
        }, 5)
        return bisect(listening, command, { inputs: 'cases' }).finally(() => clearInterval(watching))
      },
      { json: true },
    )
    const { data } = await search(command, { inputs: 'cases' })
    expect(data.culprit).toMatchObject({ input: 'e' })
    const tried = (await place.read('tried')).trim().split('\n')
    // Only the one under way may have been made twice.
    expect(tried.length - data.probes.length).toBeLessThanOrEqual(first.exit === 130 ? 1 : 0)
  })
})

const standing = await bubblewrap({ environment: { PATH: process.env.PATH }, outside: [] }).check()
if (!standing.ok) console.log(`skipped, a held search: ${standing.failure.message}`)

describe('in the mode a user gets by default, and where everything is held', () => {
  const reproduction = async (environment: { readonly [name: string]: string }, command?: readonly string[]) => {
    git('init', '--quiet', '--initial-branch=main')
    for (let at = 1; at <= 8; at++) {
      fs.writeFileSync(join(place.folder, 'v.txt'), `${at}\n`)
      git('add', 'v.txt')
      git('commit', '--quiet', '-m', `c${at}`)
    }
    const script = command ?? ['sh', '-c', 'echo built > out.txt; test "$(cat v.txt)" -lt 6']
    return await place.say(context => bisect(context, script, { good: 'HEAD~7' }), { environment })
  }

  test('as the person runs it', async () => {
    const said = await reproduction({ PLANFOLD_SANDBOX: '' })
    expect([said.exit, said.stdout]).toEqual([0, expect.stringMatching(/the first bad one.*\n {2}[0-9a-f]{12} c6\n$/)])
  })

  test.skipIf(!standing.ok)('held in the sandbox', async () => {
    const said = await reproduction({ PLANFOLD_SANDBOX: 'required' })
    expect([said.exit, said.stdout]).toEqual([0, expect.stringMatching(/the first bad one.*\n {2}[0-9a-f]{12} c6\n$/)])
    expect(fs.readdirSync(join(place.folder, '.planfold/work'))).toEqual([])
  })

  test('on a machine without a sandbox it runs as the person does; where one is required, nothing is tested', async () => {
    const broken = fs.mkdtempSync(join(tmpdir(), 'planfold-no-bwrap-'))
    onTestFinished(() => fs.rmSync(broken, { recursive: true }))
    fs.writeFileSync(join(broken, 'bwrap'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const PATH = `${broken}:${process.env.PATH}`
    const own = await reproduction({ PLANFOLD_SANDBOX: '', PATH })
    expect([own.exit, own.stdout]).toEqual([0, expect.stringMatching(/ c6\n$/)])
    fs.rmSync(join(place.folder, '.planfold'), { recursive: true })
    fs.rmSync(join(place.folder, '.git'), { recursive: true })
    const required = await reproduction({ PLANFOLD_SANDBOX: 'required', PATH })
    expect([required.exit, required.stdout]).toEqual(['probe-failed', ''])
    expect(required.stderr).toMatch(/could not be tested/)
  })

  test('a commit in which the command cannot be started is not tested, and never bad', async () => {
    git('init', '--quiet', '--initial-branch=main')
    for (let at = 1; at <= 8; at++) {
      fs.writeFileSync(join(place.folder, 'v.txt'), `${at}\n`)
      fs.rmSync(join(place.folder, 'check'), { force: true })
      const mode = at === 5 ? 0o644 : 0o755
      if (at !== 4) fs.writeFileSync(join(place.folder, 'check'), `#!/bin/sh\ntest ${at} -lt 6\n`, { mode })
      git('add', '--all')
      git('commit', '--quiet', '-m', `c${at}`)
    }
    const said = await place.say(context => bisect(context, ['./check'], { good: 'HEAD~7' }), {
      environment: { PLANFOLD_SANDBOX: '' },
    })
    expect(said.exit).toBe(1)
    expect(said.stdout.replaceAll(/[0-9a-f]{12} /g, '')).toMatch(
      /^the first bad one is among these 3 \(\d tests of 8 candidates\):\n {2}c4 {2}not tested\n {2}c5 {2}not tested\n {2}c6\n$/,
    )
    expect(said.stderr).toMatch(/skip .*c5 .*not tested: exit 126/)
  })
})
