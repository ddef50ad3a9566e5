// What an approval is bound to besides the words: files however their names are written, and all that decides what a push sends.

import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ShownTask } from '../../domain/gates/consent.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { shell } from '../../workspace/git/repository.fixture.ts'
import { namedFiles } from './command-files.ts'
import { gate, run, type Stage, stage } from './consent.fixture.ts'
import { hostsIn } from './consent-binding.ts'

const script = (text: string): Partial<TaskDefinition> => ({
  id: 'go' as never,
  needs: ['ok'] as never,
  action: { type: 'run', command: { script: text } },
})
const argv = (...words: readonly string[]): Partial<TaskDefinition> => run('go', words, { needs: ['ok'] })
const WENT = '#!/bin/sh\necho went >> $REC\n'

describe('a file is bound however it is named', () => {
  it.each<readonly [string, Partial<TaskDefinition>]>([
    ['my ship.sh', argv('sh', 'my ship.sh')],
    ['my ship.sh', argv('./my ship.sh')],
    ['a;b.sh', argv('sh', 'a;b.sh')],
    ["it's.sh", argv('sh', "it's.sh")],
    ['my ship.sh', argv('env', 'X=y', 'sh', 'my ship.sh')],
    ['my conf', argv('sh', '-c', 'echo went >> $REC', '--config=my conf')],
    ['my ship.sh', script("sh 'my ship.sh'")],
    ['my ship.sh', script('sh my\\ ship.sh')],
    ['my ship.sh', script('sh "my ship.sh"; true')],
    ['my ship.sh', argv('sh', '-c', "sh 'my ship.sh'")],
    ['ship.sh', script('sh<ship.sh')],
    ['ship.sh', script('x=ship.sh; sh $x')],
  ])('%s: %j', async (file, task) => {
    const on = await stage({ tasks: [gate('ok'), task] }, { [file]: WENT })
    chmodSync(join(on.root, file), 0o755)
    await on.drive()
    await on.decide('ok')
    on.write(file, `${WENT}echo more >> $REC\n`)
    await on.drive()
    expect([on.done(), await on.asks('go')]).toEqual([[], 'consent'])
    await on.decide('go')
    await on.drive()
    expect(on.done()[0]).toBe('went')
    on.close()
  })

  it.each(['a', 'a.', 'a b', "'", '://', 'a@a.', '=', '1.'])('in little time: a long argument of %j', text => {
    const timed = (length: number): number => {
      const long = text.repeat(length / text.length)
      const from = process.cpuUsage().user
      hostsIn([long])
      namedFiles('/nowhere', '.', ['sh', long])
      return process.cpuUsage().user - from
    }
    timed(10_000)
    // What grows with the square takes a hundred times as long for ten times the text. Counted is our own work, not the wait for a turn.
    const [short, long] = [Math.max(timed(10_000), 10_000), timed(100_000)]
    expect(long).toBeLessThan(60 * short)
  })
})

describe('a push', () => {
  const git = (on: Stage, ...args: readonly string[]): string => shell(on.root, on.root, ...args)
  const pushing = async (...words: readonly string[]): Promise<Stage> => {
    const on = await stage(
      { tasks: [run('push', ['git', 'push', ...words])] },
      { 'a.txt': 'a', '.gitignore': '.planfold\n' },
    )
    git(on, 'init', '-q', '-b', 'main', '.')
    git(on, 'add', '-A')
    git(on, 'commit', '-qm', 'one')
    git(on, 'branch', 'other')
    git(on, 'init', '-q', '--bare', 'far.git')
    git(on, 'remote', 'add', 'origin', join(on.root, 'far.git'))
    await on.drive()
    return on
  }
  const shown = async (on: Stage): Promise<ShownTask> =>
    JSON.parse(Buffer.from((await on.rooms.store.blobs.get((await on.hash('push')) as never))!).toString()) as ShownTask
  const commit = (on: Stage): string => git(on, 'commit', '-q', '--allow-empty', '-m', 'more')
  const hook = (on: Stage, folder: string): void => {
    on.write(`${folder}/pre-push`, '#!/bin/sh\necho hooked >> $REC\n')
    chmodSync(join(on.root, folder, 'pre-push'), 0o755)
  }

  it('shows the commits it sends, and sends them', async () => {
    const on = await pushing('origin', '+main:production', 'other')
    const head = git(on, 'rev-parse', 'HEAD').trim()
    expect((await shown(on)).push).toMatchObject({
      commits: { HEAD: head, main: head, other: head },
      config: { 'remote.origin.url': join(on.root, 'far.git') },
      hook: null,
    })
    await on.decide('push')
    await on.drive()
    expect((await on.state()).status).toBe('completed')
    expect(shell(join(on.root, 'far.git'), on.root, 'rev-parse', 'production').trim()).toBe(head)
    on.close()
  })

  it.each<readonly [string, readonly string[], (on: Stage) => unknown]>([
    ['what HEAD stands for', ['origin', 'HEAD'], commit],
    ['the branch that is named', ['origin', 'other'], on => git(on, 'branch', '-f', 'other', commit(on) || 'HEAD')],
    ['a branch among all', ['--all', 'origin'], on => git(on, 'branch', 'another')],
    ['a packed ref', ['origin', 'HEAD'], on => [commit(on), git(on, 'pack-refs', '--all')]],
    ['where it is pushed to', ['origin', 'main'], on => git(on, 'config', 'remote.origin.pushurl', '/elsewhere')],
    ['what an address stands for', ['origin', 'main'], on => git(on, 'config', 'url./elsewhere.insteadOf', '/')],
    [
      'the same, for all repositories',
      ['origin', 'main'],
      on => everywhere(on, '[url "/elsewhere"]\n insteadOf = /\n'),
    ],
    ['the same, in a file that is included', ['origin', 'main'], on => included(on)],
    ['what is pushed by itself', ['origin'], on => git(on, 'config', 'push.default', 'upstream')],
    ['what the branch follows', ['origin'], on => git(on, 'config', 'branch.main.merge', 'refs/heads/x')],
    ['the hook', ['origin', 'main'], on => hook(on, '.git/hooks')],
    ['where hooks are', ['origin', 'main'], on => [hook(on, 'hooks'), git(on, 'config', 'core.hooksPath', 'hooks')]],
  ])('that was approved is void when there changes %s', async (_, words, change) => {
    const on = await pushing(...words)
    expect(await on.decide('push')).toBe('ok')
    await change(on)
    await on.drive()
    expect([on.done(), await on.asks('push')]).toEqual([[], 'consent'])
    expect(git(on, '-C', 'far.git', 'for-each-ref')).toBe('')
    on.close()
  })

  const everywhere = (on: Stage, text: string): void =>
    writeFileSync(join(on.rooms.environment.HOME ?? '', '.gitconfig'), text)
  const included = (on: Stage): void => {
    on.write('more.cfg', '[remote "origin"]\n\tpushurl = /elsewhere\n')
    everywhere(on, `[include]\n\tpath = ${join(on.root, 'more.cfg')}\n`)
  }
})
