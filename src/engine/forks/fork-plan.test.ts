import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plainHint } from '../../domain/hint.ts'
import type { PlanName, TaskName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { ForkAsk } from '../engine.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => {
  await place.close()
  rmSync(place.root, { recursive: true, force: true })
})

const needs = (...names: string[]) => ({ needs: names as TaskName[] })
const gate = (id: string, after: string): TaskDefinition => ({
  id: id as TaskName,
  action: { type: 'gate', gate: 'approval' },
  ...needs(after),
})

/** By the shell, not by our own code: every path of a folder but state and repository, with type, mode, target and content. */
const hash = (...folder: string[]): string =>
  execFileSync(
    'sh',
    [
      '-c',
      `find . \\( -name .planfold -o -name .git \\) -prune -o -mindepth 1 -printf '%P %y %m %l\\n' | sort; find . \\( -name .planfold -o -name .git \\) -prune -o -type f -print0 | sort -z | xargs -0r sha256sum`,
    ],
    { cwd: join(place.root, ...folder), encoding: 'utf8' },
  )
const path = (...names: string[]) => join(place.root, ...names)
const put = (name: string, text: string) => writeFileSync(path(name), text)
const text = (...names: string[]) => readFileSync(path(...names), 'utf8')
const work = (name: string, ...names: string[]) => ['.planfold', 'work', name, ...names]
const git = (...args: string[]) =>
  execFileSync(
    'git',
    [
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@example.com',
      '-c',
      'init.defaultBranch=main',
      '-c',
      'maintenance.auto=false',
      ...args,
    ],
    { cwd: place.root, encoding: 'utf8' },
  ).trim()

const STEPS = [
  sh('one', `echo one > a; mkdir -p d/e; echo deep > d/e/f; chmod 755 a; echo '{"n":1}'`, {
    outputs: { told: { from: 'stdout', as: 'json' } },
  }),
  gate('look', 'one'),
  sh('two', 'sed -i s/one/two/ a; rm -r d; ln -s a link; mv keep moved', needs('look')),
  sh('three', 'echo "$PLANFOLD_INPUTS" >> a', {
    ...needs('two', 'one'),
    inputs: { word: 'x', n: '${{ tasks.one.outputs.told.n }}' },
  }),
]

/** Runs it with a stop at the gate, and tells how the files stood there. */
async function ran(steps = STEPS, rest: Partial<PlanDefinition> = {}): Promise<string> {
  put('keep', 'mine\n')
  put('other', 'not of the plan\n')
  await place.run(steps, rest)
  const then = hash()
  await place.submit({ type: 'decide', task: 'look' as TaskName, verdict: 'approved', rationale: '' })
  await place.drive()
  return then
}

const tried = (ask: ForkAsk, plan = 'plan') => place.submit({ type: 'fork', ...ask }, plan)

async function fork(ask: ForkAsk, plan = 'plan') {
  const made = await tried(ask, plan)
  if (!made.ok) throw new Error(`${made.refusal.message} (${plainHint(made.refusal.hint ?? '')})`)
  return made
}

async function drive(name: string) {
  const found = await place.engine.ask({ type: 'find', reference: name })
  const started = await place.submit({ type: 'start' }, name)
  if (!started.ok) throw new Error(started.refusal.message)
  return await place.worker.drive(found!.plan, { stop: new AbortController().signal })
}

async function statuses(name: string): Promise<Record<string, string>> {
  const cards = (await place.engine.ask({ type: 'board', plan: name })) ?? []
  const summary = await place.engine.ask({ type: 'summary', plan: name })
  return { plan: summary?.status ?? 'none', ...Object.fromEntries(cards.map(card => [card.name, card.status])) }
}

const entries = async (plan = 'plan') => (await place.engine.ask({ type: 'entries', plan, limit: 1000 })) ?? []

describe.each(['a folder', 'a repository'])('a fork in %s', where => {
  beforeEach(() => {
    if (where === 'a folder') return
    git('init', '-q')
    put('tracked', 'committed\n')
    git('add', '.')
    git('commit', '-qm', 'first')
    put('tracked', 'edited by a person\n')
  })

  it('goes on from where a task had ended, with the files of then; plan and files stay as they are', async () => {
    const then = await ran()
    const [journal, files] = [await entries(), hash()]
    const made = await fork({ from: 'one' })
    expect(made).toMatchObject({
      name: 'plan-fork',
      fork: {
        ended: ['one'],
        open: ['look', 'two', 'three'],
        works: {
          in: where === 'a folder' ? 'folder' : 'worktree',
          place: '.planfold/work/plan-fork',
          others: 'then',
          unseen: [],
        },
      },
    })
    expect(hash(...work('plan-fork'))).toBe(then)
    expect(hash()).toBe(files)
    expect(await entries()).toEqual(journal)
    const [created] = await entries('plan-fork')
    expect(created?.events[0]).toMatchObject({ origin: journal[0]?.plan, forkedAt: made.fork?.from })

    await drive('plan-fork')
    expect(await statuses('plan-fork')).toMatchObject({ plan: 'blocked', one: 'completed', look: 'waiting' })
    await place.submit({ type: 'decide', task: 'look' as TaskName, verdict: 'approved', rationale: '' }, 'plan-fork')
    await place.worker.drive(made.plan, { stop: new AbortController().signal })
    expect(await statuses('plan-fork')).toMatchObject({ plan: 'completed', three: 'completed' })
    // What a task that ended in the other plan left is there for expressions.
    expect(text(...work('plan-fork', 'a'))).toBe('two\n{"word":"x","n":1}\n')
    expect(hash()).toBe(files)
    expect(await entries()).toEqual(journal)
  })

  it('at any entry holds exactly what the plan had written by then; other files are as they are now', async () => {
    const then = await ran()
    const opened = (await entries()).find(({ events }) => events.some(({ type }) => type === 'gate.opened'))!
    put('other', 'edited since\n')
    put('a', 'a person worked here since\n')
    rmSync(path('link'))
    const files = hash()
    const made = await fork({ from: String(opened.version + 1), name: 'second' })
    expect(made.fork?.works).toMatchObject({ others: 'now', unseen: [] })
    expect(text(...work('second', 'other'))).toBe('edited since\n')
    put('other', 'not of the plan\n')
    writeFileSync(path(...work('second', 'other')), 'not of the plan\n')
    expect(hash(...work('second'))).toBe(then)
    put('other', 'edited since\n')
    expect(hash()).toBe(files)
  })

  it('of a plan that was rolled back works the same, and so does the fork of a fork', async () => {
    const then = await ran()
    const all = (await place.engine.ask({ type: 'checkpoints', plan: 'plan' })) ?? []
    const end = hash()
    const asked = await place.submit({ type: 'rollback', to: all[0]!.name })
    expect(asked.ok, JSON.stringify(asked)).toBe(true)
    await place.drive()
    expect(hash()).toBe(then)
    const [before, after] = [
      await fork({ from: all.at(-1)!.name, name: 'before' }),
      await fork({ from: String((await entries()).length), name: 'after' }),
    ]
    expect([before.fork?.ended, after.fork?.ended]).toEqual([['one', 'look', 'two', 'three'], ['one']])
    expect([hash(...work('before')), hash(...work('after'))]).toEqual([end, then])
    await drive('after')
    const again = await fork({ from: 'one', name: 'again' }, 'after')
    expect(again.fork?.ended).toEqual(['one'])
    expect(hash(...work('again'))).toBe(then)
  })

  it('runs beside another fork of the same point', async () => {
    await ran()
    const files = hash()
    const [a, b] = await Promise.all([
      fork({ from: 'look', name: 'fa', inputs: { 'three.word': 'A' } }),
      fork({ from: 'look', name: 'fb', inputs: { 'three.word': 'B' } }),
    ])
    await Promise.all([drive(a.name), drive(b.name)])
    expect([await statuses('fa'), await statuses('fb')]).toMatchObject([{ plan: 'completed' }, { plan: 'completed' }])
    expect([text(...work('fa', 'a')), text(...work('fb', 'a'))]).toEqual([
      'two\n{"word":"A","n":1}\n',
      'two\n{"word":"B","n":1}\n',
    ])
    expect(hash()).toBe(files)
  })
})

describe('a fork', () => {
  it('while the plan works holds nothing of what is being written', async () => {
    put('keep', 'mine\n')
    const steps = [
      sh('one', 'echo one > a'),
      sh('two', 'echo half > a; mkfifo go; cat go; echo whole > a', { ...needs('one'), effect: 'idempotent' }),
    ]
    const driving = place.run(steps)
    while (!existsSync(path('go'))) await new Promise(resolve => setImmediate(resolve))
    const made = await fork({ from: 'one' })
    expect(text(...work('plan-fork', 'a'))).toBe('one\n')
    expect(made.fork).toMatchObject({ ended: ['one'], open: ['two'] })
    writeFileSync(path('go'), 'on\n')
    await driving
    expect(text('a')).toBe('whole\n')
  })

  it('opens again what had failed, and finds the files its first attempt found', async () => {
    put('list', 'first\n')
    const bad = sh('bad', 'echo more >> list; test -e ok', { write: ['list'], network: [] })
    await place.run([sh('one', 'echo one > a'), { ...bad, ...needs('one') }], { policy: { onFailure: 'keep' } })
    expect(await statuses('plan')).toMatchObject({ plan: 'failed', bad: 'failed' })
    expect(text('list')).toBe('first\nmore\n')
    const made = await fork({ from: String((await entries()).length) })
    expect(made.fork).toMatchObject({ ended: ['one'], open: ['bad'] })
    expect(text(...work('plan-fork', 'list'))).toBe('first\n')
    writeFileSync(path(...work('plan-fork', 'ok')), '')
    await drive('plan-fork')
    expect(await statuses('plan-fork')).toMatchObject({ plan: 'completed' })
    expect(text(...work('plan-fork', 'list'))).toBe('first\nmore\n')
  })

  it('knows nothing of what an attempt wrote that was set back before the next', async () => {
    put('list', 'first\n')
    const twice = sh(
      'twice',
      'test -e .planfold/again || { echo x > wrong; echo more >> list; touch .planfold/again; exit 75; }; echo right > out',
      {
        write: ['list', 'wrong', 'out'],
        network: [],
        retry: { attempts: 2, backoffMs: { min: 1, max: 2 } },
      },
    )
    await place.run([twice, sh('after', 'echo done > end', needs('twice'))])
    expect(await statuses('plan')).toMatchObject({ plan: 'completed' })
    const then = hash()
      .split('\n')
      .filter(line => !line.includes('end'))
      .join('\n')
    await fork({ from: 'twice' })
    expect(hash(...work('plan-fork'))).toBe(then)
    expect(text(...work('plan-fork', 'list'))).toBe('first\n')
  })

  it('goes the way outcomes had led', async () => {
    const steps = [
      sh('pick', 'exit 3', { on: { failure: ['mend' as TaskName] } }),
      gate('look', 'mend'),
      sh('mend', 'echo mended > m'),
      sh('after', 'cat m', needs('look')),
    ]
    await place.run(steps)
    expect(await statuses('plan')).toMatchObject({ pick: 'failed', mend: 'completed', look: 'waiting' })
    const routed = (await entries()).find(({ events }) => events.some(({ type }) => type === 'task.routed'))!
    const made = await fork({ from: String(routed.version) })
    expect(made.fork).toMatchObject({ ended: ['pick'], open: ['look', 'mend', 'after'] })
    await drive('plan-fork')
    expect(await statuses('plan-fork')).toMatchObject({ pick: 'failed', mend: 'completed', look: 'waiting' })
    expect(existsSync(path(...work('plan-fork', 'm')))).toBe(true)
  })

  it('here works in the workspace as it is', async () => {
    await ran()
    const made = await fork({ from: 'look', here: true, name: 'here' })
    expect(made.fork?.works).toEqual({ in: 'workspace' })
    expect(existsSync(path('.planfold', 'work'))).toBe(false)
  })

  it('with another definition keeps what ended and is still there', async () => {
    await ran()
    const definition = { name: 'x' as PlanName, tasks: [STEPS[0]!, sh('new', 'cat a > b', needs('one'))] }
    const made = await fork({ from: 'look', definition })
    expect(made).toMatchObject({ name: 'plan-fork', fork: { ended: ['one'], open: ['new'] } })
    await drive('plan-fork')
    expect(text(...work('plan-fork', 'b'))).toBe('one\n')
  })

  it('names the tasks of which nobody saw what they wrote', async () => {
    await ran(STEPS, { policy: { checkpoints: { files: 'declared' } } })
    const made = await fork({ from: 'one' })
    expect(made.fork?.works).toMatchObject({ others: 'now', unseen: ['two', 'three'] })
    expect(hash(...work('plan-fork'))).toBe(hash())
  })

  it('is a plain folder where a worktree would run commands of the repository, says why, and leaves no branch', async () => {
    put('.gitattributes', '* filter=own\n')
    git('init', '-q')
    git('add', '.')
    git('commit', '-qm', 'first')
    git('config', 'filter.own.smudge', 'touch smudged; cat')
    const then = await ran()
    const made = await fork({ from: 'one' })
    expect(made.fork?.works).toMatchObject({ in: 'folder', why: expect.stringContaining('filter own') })
    expect(hash(...work('plan-fork'))).toBe(then)
    expect(git('branch', '--list', 'plan/*')).toBe('')
    expect(existsSync(path('smudged'))).toBe(false)
  })

  it('is refused with a reason, and leaves nothing', async () => {
    await ran()
    const files = hash()
    const code = async (ask: ForkAsk) => {
      const made = await tried(ask)
      return made.ok
        ? 'ok'
        : `${made.refusal.code}: ${made.refusal.message}${made.refusal.hint ? ` (${plainHint(made.refusal.hint ?? '')})` : ''}`
    }
    expect(await code({ from: 'ones' })).toBe(
      `not-found: the plan has no task, checkpoint or entry 'ones' (did you mean 'one'?)`,
    )
    expect(await code({ from: '999' })).toMatch(/^not-found: the plan has no entry 999/)
    expect(await code({ from: '0' })).toMatch(/^not-found: the plan has no entry 0/)
    expect(await code({ from: 'one', name: 'plan' })).toMatch(/^exists: /)
    expect(await code({ from: 'one', name: '../x' })).toMatch(/^invalid: /)
    expect(await code({ from: 'one', model: 'm' })).toMatch(/^conflict: nothing in this plan asks a model/)
    expect(await code({ from: 'two', inputs: { 'one.x': 1 } })).toMatch(
      /^illegal-transition: the task 'one' has ended there/,
    )
    expect(await code({ from: 'one', inputs: { 'tree.x': 1 } })).toMatch(/did you mean 'three'/)
    expect(await code({ from: 'one', inputs: { three: 1 } })).toMatch(/^invalid: 'three' names no input/)
    expect(hash()).toBe(files)
    expect(existsSync(path('.planfold', 'work'))).toBe(false)
  })

  it('asks another model where tasks ask one', async () => {
    const definition = {
      name: 'asks' as PlanName,
      tasks: [{ id: 'think' as TaskName, action: { type: 'model' as const, spec: { use: 'local/old', system: 's' } } }],
    }
    await place.submit({ type: 'create', definition }, null)
    await fork({ from: '1', model: 'local/new', name: 'other', here: true }, 'asks')
    const told = await place.engine.ask({ type: 'definition', plan: 'other' })
    expect(told?.definition.tasks[0]?.action).toEqual({ type: 'model', spec: { use: 'local/new', system: 's' } })
  })
})

/** Writing, deleting, moving, linking and chmod, over a few names that are easy to get wrong. */
const NAMES = ['a', 'b c', '-d', 'e/f', 'e/g h', 'q"uote', 'n\new']
function randomStep(random: () => number): string {
  const name = () => `'${NAMES[Math.floor(random() * NAMES.length)]}'`
  const one = (): string => {
    const [x, y] = [name(), name()]
    const steps = [
      `mkdir -p e; echo ${random()} > ./${x}`,
      `echo ${random()} >> ./${x}`,
      `rm -rf ./${x}`,
      `mv -f ./${x} ./${y}`,
      `ln -sfn ./${y} ./${x}`,
      `chmod ${['600', '755', '640'][Math.floor(random() * 3)]} ./${x}`,
      `rm -rf e; mkdir -p e/deep; chmod 700 e`,
      `rm -rf ./${x}; mkdir ./${x}`,
    ]
    return `{ ${steps[Math.floor(random() * steps.length)]}; } 2>/dev/null || true`
  }
  return Array.from({ length: 4 }, one).join('; ')
}

const RUNS = Number(process.env.PLANFOLD_FORK_RUNS ?? 2)

describe('any plan', () => {
  it.each(Array.from({ length: RUNS }, (_, at) => at + 1))(
    'forked at each of its tasks has the tree of then (seed %i)',
    async seed => {
      let state = seed * 2654435761
      const random = () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return state / 2 ** 32
      }
      if (seed % 2 === 0) {
        put('tracked', 'committed\n')
        git('init', '-q')
        git('add', '.')
        git('commit', '-qm', 'first')
      }
      put('mine', 'mine\n')
      // Each task ends with a copy of what it leaves, by a tool that is not ours, outside the workspace.
      const aside = `${place.root}-aside`
      mkdirSync(aside)
      const tasks = Array.from({ length: 5 }, (_, at) =>
        sh(
          `t${at}`,
          `${randomStep(random)}; mkdir '${aside}/t${at}'; tar cf - --exclude=./.planfold --exclude=./.git . | tar xpf - -C '${aside}/t${at}'`,
          at === 0 ? {} : needs(`t${at - 1}`),
        ),
      )
      await place.run(tasks)
      expect(await statuses('plan')).toMatchObject({ plan: 'completed' })
      const then = (name: string) => hash('..', aside.slice(aside.lastIndexOf('/') + 1), name)
      // At entries where not all files were stored, what the plan wrote is taken out of what there is now.
      for (const { version } of (await entries()).filter(() => random() < 0.25)) {
        const ended = (await entries())
          .filter(entry => entry.version <= version)
          .flatMap(({ events }) => events)
          .findLast(event => event.type === 'attempt.succeeded')
        if (ended?.type !== 'attempt.succeeded') continue
        await fork({ from: String(version), name: `e${version}` })
        expect(hash(...work(`e${version}`)), `entry ${version}`).toBe(then(ended.task))
      }
      // A person goes on with what the plan left.
      execFileSync('sh', ['-c', randomStep(random)], { cwd: place.root })
      const files = hash()
      for (const [at] of tasks.entries()) {
        const { fork: told } = await fork({ from: `t${at}`, name: `f${at}` })
        expect(told?.works).toMatchObject({ others: 'then', unseen: [] })
        expect(hash(...work(`f${at}`)), `t${at}`).toBe(then(`t${at}`))
      }
      expect(hash()).toBe(files)
      rmSync(aside, { recursive: true })
    },
    600_000,
  )
})

describe('a place', () => {
  it('that is gone pauses the plan, with the reason; brought back, it goes on', async () => {
    await ran()
    const { plan } = await fork({ from: 'look' })
    const folder = path(...work('plan-fork'))
    const aside = path('.planfold', 'aside')
    execFileSync('mv', [folder, aside])
    await drive('plan-fork')
    const summary = await place.engine.ask({ type: 'summary', plan })
    expect(summary).toMatchObject({
      status: 'paused',
      reason: 'its folder .planfold/work/plan-fork is missing; bring it back, then resume',
    })
    execFileSync('mv', [aside, folder])
    await place.submit({ type: 'resume' }, 'plan-fork')
    await place.worker.drive(plan, { stop: new AbortController().signal })
    expect(await statuses('plan-fork')).toMatchObject({ plan: 'completed' })
  })

  it('has rollbacks of its own: going back in a fork changes nothing outside it', async () => {
    await ran()
    const files = hash()
    await fork({ from: 'look', inputs: { 'three.word': 'other' } })
    const begun = hash(...work('plan-fork'))
    await drive('plan-fork')
    expect(hash(...work('plan-fork'))).not.toBe(begun)
    const asked = await place.submit({ type: 'rollback', to: '2' }, 'plan-fork')
    expect(asked.ok, JSON.stringify(asked)).toBe(true)
    const found = await place.engine.ask({ type: 'find', reference: 'plan-fork' })
    await place.worker.drive(found!.plan, { stop: new AbortController().signal })
    expect(hash(...work('plan-fork'))).toBe(begun)
    expect(hash()).toBe(files)
  })
})
