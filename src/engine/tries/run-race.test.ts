// Best of N in real folders: what reaches the workspace, what is recorded, and that nothing is left behind.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { PlanId, PlanName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import type { Attempt, Outcome, Runner, RunnerTools } from '../../runners/runner.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import { shell } from '../../workspace/git/repository.fixture.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

type Place = Awaited<ReturnType<typeof realRooms>>
type Script = (attempt: Attempt, tools: RunnerTools, signal: AbortSignal) => Promise<Outcome> | Outcome

let place: Place
const scripts = new Map<string, Script>()
const begun: string[] = []
const agents: Runner = {
  action: 'agent',
  async attempt(attempt, tools, stop) {
    const { use } = (attempt.action as unknown as { spec: { use: string } }).spec
    begun.push(`${use} ${attempt.tried ?? ''}`.trim())
    return await scripts.get(use)!(attempt, tools, stop.signal)
  },
}
const write =
  (path: string, text: string): Script =>
  (_, { root }) => {
    fs.mkdirSync(join(root, path, '..'), { recursive: true })
    fs.writeFileSync(join(root, path), text)
    return { type: 'done', outputs: { text: `wrote ${path}` } }
  }

beforeEach(async () => {
  place = await realRooms({ runners: [agents] })
  scripts.clear()
  begun.length = 0
})
afterEach(async () => {
  await place.close()
  fs.rmSync(place.base, { recursive: true, force: true })
})

const at = (path: string): string => join(place.root, path)
const put = (path: string, text: string): void => {
  fs.mkdirSync(join(at(path), '..'), { recursive: true })
  fs.writeFileSync(at(path), text)
}
const read = (path: string): string => fs.readFileSync(at(path), 'utf8')
const events = async <T extends Event['type']>(type: T) =>
  ((await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []).flatMap(({ events }) =>
    events.filter((event): event is Extract<Event, { type: T }> => event.type === type),
  )
const ends = async () => (await events('race.tried')).map(({ number, by, ended }) => `${number} ${by} ${ended}`)
const failures = async () => (await events('attempt.failed')).map(({ result }) => result.failure.message)
const leftovers = (): readonly string[] =>
  fs.existsSync(at('.planfold/tries')) ? fs.readdirSync(at('.planfold/tries')) : []
const command = (script: string, more: Partial<TaskDefinition> = {}): TaskDefinition =>
  sh('fix', script, { write: ['src/**'], network: [], effect: 'workspace', ...more })
const agent = (names: readonly string[], more: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: 'fix' as TaskDefinition['id'],
  action: { type: 'agent', spec: { use: names[0]! } },
  instruction: 'Mend it',
  write: ['src/**'],
  tries: { with: names.map(use => ({ use })) },
  ...more,
})
const check = (script: string) => ({ accept: [{ type: 'check' as const, command: { script } }] })
const isRepository = (): void => {
  const git = (...args: string[]): string => shell(place.root, place.root, ...args)
  git('init', '--quiet', '--initial-branch=main')
  put('.gitignore', '.planfold/\nnode_modules/\n')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
}

describe('a command', () => {
  test('is tried in folders of its own, and the smallest difference that passes reaches the workspace', async () => {
    put('src/a.txt', 'one\ntwo\n')
    const script = 'for i in $(seq $((4 - PLANFOLD_TRY))); do echo $PLANFOLD_TRY >> src/a.txt; done; pwd'
    await place.run([command(script, { tries: { with: 3 }, ...check('test "$(tail -1 src/a.txt)" -ne 3') })])
    expect(await place.statuses()).toEqual({ plan: 'completed', fix: 'completed' })
    expect(await ends()).toEqual(expect.arrayContaining(['1 run passed', '2 run passed', '3 run failed']))
    expect(await events('race.judged')).toMatchObject([{ best: { round: 1, number: 2 }, why: 'lines' }])
    expect(read('src/a.txt')).toBe('one\ntwo\n2\n2\n')
    const { result } = (await events('attempt.succeeded'))[0]!
    expect(result.wrote).toMatchObject({ paths: 1 })
    expect(result.verdicts).toMatchObject([{ holds: true }])
    expect(leftovers()).toEqual([])
  })

  test('that changes, adds and removes files does the same in the workspace', async () => {
    put('src/old.txt', 'old\n')
    put('src/kept.txt', 'kept\n')
    put('src/inner/gone.txt', 'gone\n')
    await place.run([
      command(
        'rm src/old.txt; rm -r src/inner; mkdir -p src/new/deep; echo new > src/new/deep/a.txt; ln -s kept.txt src/link',
        { tries: { with: 2 } },
      ),
    ])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(fs.readdirSync(at('src'), { recursive: true }).toSorted()).toEqual([
      'kept.txt',
      'link',
      'new',
      'new/deep',
      'new/deep/a.txt',
    ])
    expect(fs.readlinkSync(at('src/link'))).toBe('kept.txt')
    expect(read('src/new/deep/a.txt')).toBe('new\n')
  })
})

test('a task in a worktree of its own is tried there, and the best one is committed on the branch of the plan', async () => {
  put('src/a.txt', 'a\n')
  isRepository()
  const tried = { tries: { with: 2 }, ...check('grep -q 2 src/a.txt') }
  await place.run([command('echo $PLANFOLD_TRY > src/a.txt', tried)], { git: { worktree: 'task' } })
  expect(await failures()).toEqual([])
  expect(read('src/a.txt')).toBe('a\n')
  expect(shell(place.root, place.root, 'show', 'plan/plan:src/a.txt')).toBe('2')
  expect(leftovers()).toEqual([])
})

describe('ignored folders', () => {
  const installed = (): void => {
    put('.gitignore', '.planfold/\nnode_modules/\n.venv/\n')
    put('node_modules/three/index.js', 'module.exports = 3\n')
    put('packages/group/a/node_modules/.bin/tool', '')
    put('src/a.txt', 'a\n')
    put('.venv/bin/python', `#!${at('.venv/bin/real')}\n`)
  }
  const script = `node -e "require('three')"; test -e packages/group/a/node_modules/.bin/tool
    test -e "$(sed 's/#!//; s#/real#/python#' .venv/bin/python)"
    if touch node_modules/made; then echo copied > src/how.txt; else echo shared > src/how.txt; fi`

  test('are copied where there is no sandbox', async () => {
    installed()
    await place.run([command(script, { tries: { with: 2 } })])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(read('src/how.txt')).toBe('copied\n')
    expect(fs.readdirSync(at('node_modules'))).toEqual(['three'])
  })

  heldTest('are shown read-only in the sandbox', async () => {
    await place.close()
    place = await realRooms({ base: place.base, sandboxed: true })
    installed()
    await place.run([command(script, { tries: { with: 2 } })], { policy: { sandbox: 'required' } })
    expect(await failures()).toEqual([])
    expect(read('src/how.txt')).toBe('shared\n')
    expect(fs.readdirSync(at('node_modules'))).toEqual(['three'])
  })

  test('are left to `prepare`, which runs in each try first and is not its work', async () => {
    installed()
    const prepare = {
      script: 'mkdir node_modules; echo $PLANFOLD_TRY > node_modules/for; echo changed > package-lock.json',
    }
    await place.run([command('cp node_modules/for src/for.txt', { tries: { with: 2, prepare } })])
    expect(await failures()).toEqual([])
    expect(await ends()).toEqual(expect.arrayContaining(['1 run passed', '2 run passed']))
    expect(read('src/for.txt')).toBe('1\n')
    expect(fs.existsSync(at('package-lock.json'))).toBe(false)
  })
})

describe('agents', () => {
  test('race: one cheats, one is wrong, one is right, in a repository with uncommitted edits and node_modules', async () => {
    put('src/sum.js', 'module.exports = (a, b) => a - b\n')
    put('test.js', "if (require('./src/sum.js')(1, 2) !== require('three')) process.exit(1)\n")
    isRepository()
    put('node_modules/three/index.js', 'module.exports = 3\n')
    put('src/sum.js', '// to be mended\nmodule.exports = (a, b) => a - b\n')
    put('notes.txt', 'untracked\n')
    const status = shell(place.root, place.root, 'status', '--porcelain')
    const seen: string[] = []
    scripts.set('cheat', (attempt, tools, signal) => {
      seen.push(
        shell(tools.root, tools.root, 'status', '--porcelain'),
        fs.readFileSync(join(tools.root, 'notes.txt'), 'utf8'),
      )
      return write('test.js', '')(attempt, tools, signal)
    })
    scripts.set('wrong', write('src/sum.js', 'module.exports = () => 4\n'))
    scripts.set('right', write('src/sum.js', '// to be mended\nmodule.exports = (a, b) => a + b\n'))
    await place.run([agent(['cheat', 'wrong', 'right'], check('node test.js'))])
    expect(await ends()).toEqual(expect.arrayContaining(['1 cheat outside', '2 wrong failed', '3 right passed']))
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(read('src/sum.js')).toBe('// to be mended\nmodule.exports = (a, b) => a + b\n')
    expect(read('test.js')).toContain('require')
    expect(seen).toEqual([status, 'untracked\n'])
    expect(shell(place.root, place.root, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
    expect(shell(place.root, place.root, 'branch', '--list').trim().split('\n')).toHaveLength(1)
    expect(leftovers()).toEqual([])
    const report = await place.engine.ask({ type: 'replay', plan: 'plan' })
    expect(report).toMatchObject({ ok: true })
    expect(begun).toHaveLength(3)
  })

  test('in a folder without git, in rounds: the second begins from what is closest, and is told what was not met', async () => {
    put('src/a.txt', 'a\n')
    scripts.set(
      'slow',
      (_attempt, _tools, signal) =>
        new Promise(resolve =>
          signal.addEventListener('abort', () => resolve({ type: 'interrupted' }), { once: true }),
        ),
    )
    scripts.set('quick', (attempt, tools, signal) => {
      // The second round continues with what failed the check in the first.
      const was = fs.readFileSync(join(tools.root, 'src/a.txt'), 'utf8')
      return write('src/a.txt', `${was}b\n${attempt.feedback ?? ''}`)(attempt, tools, signal)
    })
    scripts.set('none', () => ({ type: 'failed', failure: { class: 'logic', message: 'I cannot', retryable: false } }))
    await place.run([
      agent(['quick', 'none'], {
        tries: { with: [{ use: 'quick' }, { use: 'none' }], rounds: 2 },
        ...check('test "$(grep -c b src/a.txt)" -ge 2'),
      }),
    ])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(await ends()).toEqual(['2 none failed', '1 quick failed', '2 none failed', '1 quick passed'])
    expect(await events('race.began')).toMatchObject([{ round: 1 }, { round: 2, from: { round: 1, number: 1 } }])
    expect(read('src/a.txt')).toMatch(
      /^a\nb\nb\n\[data: what try 1 did not meet \('fix'\)[^\n]*\n\| test .*: exit 1\n\[end of data\]$/,
    )
  })

  test('`first` ends the others as soon as one passes', async () => {
    scripts.set(
      'slow',
      (_attempt, _tools, signal) =>
        new Promise(resolve =>
          signal.addEventListener('abort', () => resolve({ type: 'interrupted' }), { once: true }),
        ),
    )
    scripts.set('quick', write('src/a.txt', 'a\n'))
    await place.run([agent(['slow', 'quick'], { tries: { with: [{ use: 'slow' }, { use: 'quick' }], first: true } })])
    expect(await ends()).toEqual(['2 quick passed', '1 slow stopped'])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(leftovers()).toEqual([])
  })

  test('with `first`: one that breaks `effects` does not end the others, and loses', async () => {
    scripts.set('breaks', write('src/b.txt', 'b\n'))
    scripts.set('keeps', async (attempt, tools, signal) => {
      const { signal: never } = new AbortController()
      for await (const { events } of place.rooms.store.watch({ after: 0 as never, signal: never }))
        if (events.some(({ type }) => type === 'race.tried')) break
      return await write('src/a.txt', 'a\nand more\n')(attempt, tools, signal)
    })
    await place.run([
      agent(['breaks', 'keeps'], {
        tries: { with: [{ use: 'breaks' }, { use: 'keeps' }], first: true },
        effects: ['src/a.txt'],
      }),
    ])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(await events('race.judged')).toMatchObject([{ best: { number: 2 }, why: 'effects' }])
    expect(fs.readdirSync(at('src'))).toEqual(['a.txt'])
  })

  test('with `first`: one that waits for a person is not waited for', async () => {
    let parked = (): void => {}
    const hasParked = new Promise<void>(resolve => {
      parked = resolve
    })
    scripts.set('asks', () => {
      parked()
      return { type: 'parked', reason: 'nobody has answered' }
    })
    scripts.set('late', async (attempt, tools, signal) => {
      await hasParked
      return await write('src/a.txt', 'a\n')(attempt, tools, signal)
    })
    await place.run([agent(['asks', 'late'], { tries: { with: [{ use: 'asks' }, { use: 'late' }], first: true } })])
    expect(await ends()).toEqual(['2 late passed', '1 asks stopped'])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
  })

  test('whose best try fails the checks in the workspace leave nothing there', async () => {
    put('src/a.txt', 'a\n')
    scripts.set('one', write('src/a.txt', 'b\n'))
    scripts.set('two', write('src/new/b.txt', 'b\nc\n'))
    await place.run([agent(['one', 'two'], check('! test -e .planfold'))])
    expect(await ends()).toHaveLength(2)
    expect(await place.statuses()).toMatchObject({ fix: 'failed' })
    expect(fs.readdirSync(at('src'))).toEqual(['a.txt'])
    expect(read('src/a.txt')).toBe('a\n')
  })

  test.each([
    ['leave no folder and no worktree', false],
    ['are removed with the next plan if that cannot be done at once', true],
  ])('that are cancelled while they wait for a person %s', async (_, isBroken) => {
    put('src/a.txt', 'a\n')
    isRepository()
    const edited: Script = (attempt, tools, signal) => {
      put('src/a.txt', 'of the person\n')
      return write('src/a.txt', 'of the try\n')(attempt, tools, signal)
    }
    for (const name of ['one', 'two']) scripts.set(name, edited)
    await place.run([agent(['one', 'two'])])
    expect(await place.statuses()).toMatchObject({ fix: 'ready' })
    expect(leftovers()).toHaveLength(1)
    const removing = vi.spyOn(place.rooms.git!, 'removeScratch')
    if (isBroken) removing.mockRejectedValueOnce(new Error('the disk is broken'))
    expect((await place.submit({ type: 'cancel', reason: 'enough' })).ok).toBe(true)
    expect(leftovers()).toHaveLength(isBroken ? 1 : 0)
    if (isBroken) {
      const other = await place.submit(
        { type: 'create', definition: { name: 'other' as PlanName, tasks: [sh('x', 'true')] } },
        null,
      )
      await place.submit({ type: 'start' }, 'other')
      await place.worker.drive((other as { plan: PlanId }).plan, { stop: new AbortController().signal })
    }
    expect(leftovers()).toEqual([])
    expect(shell(place.root, place.root, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
  })

  test('wait for a person who edited the same lines, and show both; other edits are merged', async () => {
    put('src/a.txt', 'one\ntwo\nthree\nfour\nfive\n')
    put('src/b.txt', 'b\n')
    scripts.set('one', async (attempt, tools, signal) => {
      put('src/a.txt', 'ONE of the person\ntwo\nthree\nfour\nfive\n')
      put('src/b.txt', 'b of the person\n')
      await write('src/b.txt', 'b of the try\n')(attempt, tools, signal)
      return await write('src/a.txt', 'one\ntwo\nthree\nfour\nFIVE of the try\n')(attempt, tools, signal)
    })
    scripts.set('two', () => ({ type: 'failed', failure: { class: 'logic', message: 'I cannot', retryable: false } }))
    await place.run([agent(['one', 'two'])])
    expect(await place.statuses()).toMatchObject({ fix: 'ready' })
    expect(read('src/b.txt')).toBe('b of the person\n')
    const [question] = await events('question.asked')
    expect(question?.text).toContain('+b of the person')
    expect(question?.text).toContain('+b of the try')
    expect(question?.text).not.toContain('FIVE')
    await place.submit({ type: 'answer', id: question!.id, answers: { allow: 'yes' } })
    await place.drive()
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(read('src/a.txt')).toBe('ONE of the person\ntwo\nthree\nfour\nFIVE of the try\n')
    expect(read('src/b.txt')).toBe('b of the try\n')
    expect(await events('race.applied')).toMatchObject([{ overwrote: ['src/b.txt'] }])
    expect(begun.toSorted()).toEqual(['one 1', 'two 2'])
    expect(leftovers()).toEqual([])
  })

  test('whose budget ends in the middle park, and continue when a person adds to it', async () => {
    const paying =
      (usd: number, script: Script): Script =>
      async (attempt, tools, signal) => {
        const held = await tools.budget!.reserve({ cost: usd, calls: 1 }, { wait: 'others' })
        if (!held.ok) return { type: 'parked', reason: held.failure.message }
        await tools.budget!.settle(held.id, { cost: usd, calls: 1 })
        return await script(attempt, tools, signal)
      }
    scripts.set('cheap', paying(0.25, write('src/a.txt', 'a\nb\n')))
    scripts.set('dear', paying(0.6, write('src/a.txt', 'a\n')))
    await place.run([agent(['cheap', 'dear'])], {
      policy: { budget: { cost: { amount: 0.75, currency: 'USD' } } },
    })
    expect(await place.statuses()).toEqual({ plan: 'paused', fix: 'ready' })
    expect(await ends()).toEqual(['1 cheap passed'])
    const [question] = await events('question.asked')
    await place.submit({ type: 'answer', id: question!.id, answers: { more: 'yes' } })
    expect((await place.submit({ type: 'resume' })).ok).toBe(true)
    await place.drive()
    expect(await ends()).toEqual(['1 cheap passed', '2 dear passed'])
    expect(begun).toEqual(['cheap 1', 'dear 2', 'dear 2'])
    expect(await place.statuses()).toMatchObject({ fix: 'completed' })
    expect(read('src/a.txt')).toBe('a\n')
    expect(leftovers()).toEqual([])
  })

  test('that pass equally well are judged by a model, once', async () => {
    const asked: string[] = []
    const model: Runner = {
      action: 'model',
      async attempt(attempt) {
        asked.push(attempt.definition.instruction ?? '')
        return { type: 'done', outputs: { best: 2, why: 'it is the clearest' } }
      },
    }
    await place.close()
    place = await realRooms({ base: place.base, runners: [agents, model] })
    scripts.set('one', write('src/a.txt', 'a\n'))
    scripts.set('two', write('src/a.txt', 'clear\n\nand long\n'))
    const tries = { with: [{ use: 'one' }, { use: 'two' }], judge: { by: 'model' }, rounds: 2 }
    await place.run([agent(['one', 'two'], { tries })])
    expect(await failures()).toEqual([])
    expect(await events('race.judged')).toMatchObject([
      { best: { round: 1, number: 2 }, why: 'judge', judge: { by: 'model', says: 'it is the clearest' } },
    ])
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain('| +and long')
    expect(read('src/a.txt')).toBe('clear\n\nand long\n')
    expect(await place.engine.ask({ type: 'replay', plan: 'plan' })).toMatchObject({ ok: true })
    expect(asked).toHaveLength(1)
  })

  test('run only as many as fit into the budget by the median cost of such attempts, at least one, and say so', async () => {
    const costs: number[] = []
    const model: Script = (attempt, tools, signal) => {
      const cost = { known: true, usd: costs.shift() ?? 0.5 }
      const use = { model: 'm', calls: 1, usage: {}, cost, wireUsage: [], providerMetadata: [] }
      return { ...write('src/a.txt', 'a\n')(attempt, tools, signal), model: { use, recording: {} } } as never
    }
    for (const name of ['dear', 'cheap']) scripts.set(name, model)
    costs.push(0.4, 9, 0.5, 0.2, 7)
    const earlier = ['dear', 'dear', 'dear', 'cheap'].map((use, at) => ({
      ...agent([use], { kind: 'mend' }),
      id: `earlier-${at}` as TaskDefinition['id'],
      needs: at === 0 ? [] : [`earlier-${at - 1}` as TaskDefinition['id']],
    }))
    const other = {
      ...agent(['cheap'], { kind: 'plan' }),
      id: 'other' as TaskDefinition['id'],
      needs: [earlier[3]!.id],
    }
    const tasks = [...earlier, other].map(({ tries: _, ...task }) => task)
    const of = (names: readonly string[]) =>
      agent(names, { kind: 'mend', needs: [other.id], budget: { cost: { amount: 4, currency: 'USD' } } })
    const small = { policy: { budget: { cost: { amount: 1.5, currency: 'USD' } } } }
    await place.run([...tasks, of(['dear', 'cheap', 'dear', 'dear'])], small)
    expect(await ends()).toEqual(expect.arrayContaining(['1 dear passed', '2 cheap passed', '3 dear passed']))
    const [began] = await events('race.began')
    expect(began).toMatchObject({ of: ['dear', 'cheap', 'dear'], left: { tries: 1 } })
    expect(began?.left?.why).toBe('4 tries would cost about 1.7 USD, and 1.5 USD of the budget is left')
  })

  test('of whose agents nothing is recorded share the budget of the task, and one runs in any case', async () => {
    for (const name of ['one', 'two']) scripts.set(name, write('src/a.txt', 'a\n'))
    const budget = { cost: { amount: 4, currency: 'USD' } }
    await place.run([agent(['one', 'two'], { budget })], {
      policy: { budget: { cost: { amount: 1.5, currency: 'USD' } } },
    })
    expect((await events('race.began'))[0]).toMatchObject({
      of: ['one'],
      left: { tries: 1, why: '2 tries would cost about 4 USD, and 1.5 USD of the budget is left' },
    })
  })
})
