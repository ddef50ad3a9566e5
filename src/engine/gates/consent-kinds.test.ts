// Consent for every way of doing something: edits, scripts, retries, groups, what is known only later, places of their own, pushes.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ShownGate, ShownTask } from '../../domain/gates/consent.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { shell } from '../../workspace/git/repository.fixture.ts'
import { realRooms } from '../rollback/perform-rollback.fixture.ts'
import { gate, run, type Stage, stage } from './consent.fixture.ts'

const FILES = { 'x.sh': 'echo "went $1" >> $REC\n', 'a.txt': 'one\ntwo\n' }
const shownBy = async <T = ShownGate>(on: Stage, task: string): Promise<T> => {
  const bytes = await on.rooms.store.blobs.get((await on.hash(task)) as never)
  return JSON.parse(Buffer.from(bytes!).toString()) as T
}
const git = (root: string, ...commands: readonly string[]): string =>
  commands.map(command => shell(root, root, ...command.split(' '))).at(-1)!

describe('an edit behind a gate', () => {
  const edit = {
    id: 'fix',
    needs: ['ok'],
    action: { type: 'edit', edits: [{ type: 'replace', file: 'a.txt', find: 'one', replace: 'uno' }] },
  } as unknown as Partial<TaskDefinition>

  it('is shown as a diff, and made as it was shown', async () => {
    const on = await stage({ tasks: [gate('ok'), edit] }, FILES)
    await on.drive()
    expect((await shownBy(on, 'ok')).tasks[0]!.does).toMatchObject({
      type: 'edit',
      diff: expect.stringContaining('+uno'),
    })
    await on.decide('ok')
    await on.drive()
    expect(readFileSync(join(on.root, 'a.txt'), 'utf8')).toBe('uno\ntwo\n')
    on.close()
  })

  it('is asked about again when the file changed anywhere', async () => {
    const on = await stage({ tasks: [gate('ok'), edit] }, { 'a.txt': `one\n${'x\n'.repeat(50)}` })
    await on.drive()
    await on.decide('ok')
    on.write('a.txt', `one\n${'x\n'.repeat(49)}y\n`)
    await on.drive()
    expect([await on.asks('fix'), readFileSync(join(on.root, 'a.txt'), 'utf8').startsWith('one')]).toEqual([
      'consent',
      true,
    ])
    on.close()
  })
})

describe('what was approved', () => {
  it('is tried again without asking, as often as its policy says, while nothing else has changed', async () => {
    const on = await stage(
      {
        tasks: [
          gate('ok'),
          run('go', ['sh', 'flaky.sh'], { needs: ['ok'], retry: { attempts: 3, backoffMs: { min: 1, max: 1 } } }),
        ],
      },
      { 'flaky.sh': 'echo tried >> $REC; test "$(wc -l < $REC)" -ge 3\n' },
    )
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect([on.done().length, (await on.state()).status]).toEqual([3, 'completed'])
    on.close()
  })

  it('shows the values that a script is given, and is bound to them', async () => {
    const script = 'echo "got ${{ tasks.pre.outputs.word }}" >> $REC'
    const on = await stage(
      {
        tasks: [
          run('pre', ['sh', '-c', 'cat word'], { outputs: { word: { from: 'stdout', as: 'text' } }, effect: 'pure' }),
          { ...gate('ok'), needs: ['pre'] } as never,
          { id: 'go', needs: ['ok'], action: { type: 'run', command: { script } } } as never,
        ],
      },
      { word: 'rm -rf /' },
    )
    await on.drive()
    expect((await shownBy(on, 'ok')).tasks[0]!.values).toEqual({ PLANFOLD_VALUE_1: 'rm -rf /' })
    await on.decide('ok')
    await on.drive()
    expect(on.done()).toEqual(['got rm -rf /'])
    on.close()
  })

  it('covers the first tasks of a group behind the gate', async () => {
    const on = await stage(
      {
        tasks: [
          gate('ok'),
          {
            id: 'both',
            needs: ['ok'],
            action: {
              type: 'subplan',
              tasks: [run('a', ['sh', 'x.sh', 'a']), run('b', ['sh', 'x.sh', 'b'], { needs: ['a'] })],
            },
          } as never,
        ],
      },
      FILES,
    )
    await on.drive()
    expect((await shownBy(on, 'ok')).tasks.map(({ task }) => task)).toEqual(['both/a'])
    await on.decide('ok')
    await on.drive()
    expect(on.done()).toEqual(['went a', 'went b'])
    on.close()
  })

  it('with edits is for what the edits make of it, and is not asked about again', async () => {
    const on = await stage({ tasks: [gate('ok'), run('go', ['sh', 'x.sh', 'as written'], { needs: ['ok'] })] }, FILES)
    await on.drive()
    const { definition } = await on.state()
    const edited = JSON.parse(JSON.stringify(definition).replace('as written', 'as edited')) as PlanDefinition
    const said = await on.engine.submit(on.plan, {
      type: 'decide',
      task: 'ok' as never,
      verdict: 'approved',
      rationale: 'so',
      edits: { definition: edited },
    })
    expect(said.ok ? 'ok' : said.refusal.message).toBe('ok')
    await on.drive()
    expect([on.done(), (await on.state()).status]).toEqual([['went as edited'], 'completed'])
    on.close()
  })

  it('by several people is for the same hash; what changes before the last of them is asked about again', async () => {
    const two = (): Promise<Stage> =>
      stage({ tasks: [gate('ok', { approvers: { count: 2 } }), run('go', ['sh', 'x.sh'], { needs: ['ok'] })] }, FILES)
    const on = await two()
    await on.drive()
    expect([await on.decide('ok'), await on.decide('ok'), await on.decide('ok', { by: 'bo' })]).toEqual([
      'ok',
      'not-allowed',
      'ok',
    ])
    await on.drive()
    expect(on.done()).toHaveLength(1)
    on.close()
    const other = await two()
    await other.drive()
    await other.decide('ok')
    other.write('x.sh', 'echo changed >> $REC\n')
    await other.decide('ok', { by: 'bo' })
    await other.drive()
    expect([other.done(), await other.asks('go')]).toEqual([[], 'consent'])
    // The same two people must agree to it as it is now.
    expect(await other.decide('go')).toBe('ok')
    await other.drive()
    expect(other.done()).toEqual([])
    await other.decide('go', { by: 'bo' })
    await other.drive()
    expect(other.done()).toEqual(['changed'])
    other.close()
  })

  it('counts for nothing when the gate was passed over, and then nobody is asked', async () => {
    const on = await stage({ tasks: [gate('ok'), run('go', ['sh', 'x.sh'], { needs: ['ok'] })] }, FILES)
    await on.drive()
    await on.engine.submit(on.plan, { type: 'skip', task: 'ok' as never, reason: 'no need' })
    await on.drive()
    expect(on.done()).toHaveLength(1)
    on.close()
  })

  it('is known by every file the command names, and by the program that is found for it', async () => {
    const on = await stage(
      { tasks: [gate('ok'), run('go', ['./x.sh', '--with=sub/b.txt', 'nowhere', '/etc/hostname'], { needs: ['ok'] })] },
      { ...FILES, 'sub/b.txt': 'b' },
    )
    await on.drive()
    const [go] = (await shownBy(on, 'ok')).tasks
    expect(go!.files.map(({ path }) => path).filter(path => !path.startsWith('/'))).toEqual(['sub/b.txt', 'x.sh'])
    on.close()
  })

  it('is known by what stands in a folder that the command names', async () => {
    const on = await stage(
      { tasks: [gate('ok'), run('go', ['sh', 'x.sh', 'dist/'], { needs: ['ok'] })] },
      { ...FILES, 'dist/sub/a': 'a' },
    )
    await on.drive()
    await on.decide('ok')
    on.write('dist/sub/a', 'b')
    await on.drive()
    expect([on.done(), await on.asks('go')]).toEqual([[], 'consent'])
    on.close()
  })

  it('is known by a file however it is written, and however many words stand before it', async () => {
    const far = `${'./'.repeat(1_500)}x.sh`
    const argv = ['sh', far, ...Array.from({ length: 2_000 }, (_, at) => `w${at}`), 'y.txt']
    const on = await stage({ tasks: [gate('ok'), run('go', argv, { needs: ['ok'] })] }, { ...FILES, 'y.txt': 'y' })
    await on.drive()
    expect((await shownBy(on, 'ok')).tasks[0]!.files.map(({ path }) => path)).toEqual(['x.sh', 'y.txt'])
    on.close()
  })

  it('is known by a file that a value of its script names', async () => {
    const script = 'sh ${{ inputs.script }} said'
    const go = { id: 'go', needs: ['ok'], inputs: { script: 'x.sh' }, action: { type: 'run', command: { script } } }
    const on = await stage({ tasks: [gate('ok'), go as never] }, FILES)
    await on.drive()
    await on.decide('ok')
    on.write('x.sh', 'echo changed >> $REC\n')
    await on.drive()
    expect([on.done(), await on.asks('go')]).toEqual([[], 'consent'])
    on.close()
  })
})

describe('a push', () => {
  it('is bound to where the remote leads', async () => {
    const on = await stage({ tasks: [run('push', ['sh', 'x.sh'], { kind: 'push' })] }, FILES)
    git(on.root, 'init -q -b main .', 'remote add origin https://example.com/a.git')
    await on.drive()
    expect(await shownBy<ShownTask>(on, 'push')).toMatchObject({
      remotes: { origin: 'https://example.com/a.git' },
      hosts: ['example.com'],
    })
    await on.decide('push')
    git(on.root, 'remote set-url origin https://evil.example/a.git')
    await on.drive()
    expect([on.done(), await on.asks('push')]).toEqual([[], 'consent'])
    on.close()
  })
})

describe('tasks that work apart', () => {
  it('are asked about as they stand on the branch of the plan, once', async () => {
    const real = await realRooms()
    git(real.root, 'init -q -b main .')
    writeFileSync(join(real.root, '.gitignore'), '.planfold\n')
    writeFileSync(join(real.root, 'x.sh'), 'echo went >> out.txt\n')
    mkdirSync(join(real.root, 'sub'))
    git(real.root, 'add -A', 'commit -qm begin')
    // Not on the branch: nobody there sees it.
    writeFileSync(join(real.root, 'x.sh'), 'echo other >> out.txt\n')
    const tasks = [
      gate('ok'),
      run('go', ['sh', 'x.sh'], { needs: ['ok'], kind: 'deploy', write: ['out.txt'], network: [] }),
    ]
    const rest: Partial<PlanDefinition> = { git: { worktree: 'task' } }
    await real.run(tasks as readonly TaskDefinition[], rest)
    const approved = await real.submit({ type: 'decide', task: 'ok' as never, verdict: 'approved', rationale: '' })
    expect(approved.ok).toBe(true)
    await real.drive()
    expect(await real.statuses()).toMatchObject({ plan: 'completed', go: 'completed' })
    expect(git(real.root, 'show plan/plan:out.txt')).toContain('went')
    await real.close()
  })
})
