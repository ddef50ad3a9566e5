// Why a line is there. Random plans against the test's own record: every line names its writer, so the answer must name the same one.
// PLANFOLD_WHY_PLANS=30 runs more of them, and measures a long file with many versions.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import type { Why, WhyOrigin } from '../../domain/views/pages/why-lines.ts'
import { shell } from '../../workspace/git/repository.fixture.ts'
import { RIGHTS } from '../roles.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { whyByCommits } from './why.ts'

type Scene = Awaited<ReturnType<typeof realRooms>>

const scenes: Scene[] = []
afterEach(async () => {
  for (const scene of scenes.splice(0)) {
    await scene.close()
    rmSync(scene.base, { recursive: true, force: true })
  }
})

async function scene() {
  const real = await realRooms()
  scenes.push(real)
  const { engine, worker, root, rooms } = real
  const git = (...args: string[]): string => shell(root, root, ...args)
  return {
    ...real,
    git,
    put: (path: string, content: string | Buffer): void => {
      mkdirSync(join(root, path, '..'), { recursive: true })
      writeFileSync(join(root, path), content)
    },
    read: (path: string): string => readFileSync(join(root, path), 'utf8'),
    repository(): void {
      git('init', '--quiet', '--initial-branch=main')
      writeFileSync(join(root, '.gitignore'), '.planfold/\n')
    },
    async plan(name: string, tasks: readonly TaskDefinition[], rest: object = {}): Promise<PlanId> {
      const made = await engine.submit(null, { type: 'create', definition: { name: name as PlanName, ...rest, tasks } })
      if (!made.ok) throw new Error(made.refusal.message)
      const started = await engine.submit(made.plan, { type: 'start' })
      if (!started.ok) throw new Error(started.refusal.message)
      await worker.drive(made.plan, { stop: new AbortController().signal })
      return made.plan
    },
    async order(plan: PlanId, order: Parameters<typeof engine.submit>[1]): Promise<boolean> {
      const done = await engine.submit(plan, order)
      if (done.ok) await worker.drive(plan, { stop: new AbortController().signal })
      return done.ok
    },
    async why(path: string, line?: number): Promise<Why> {
      const answer = await engine.ask({ type: 'why', path, ...(line === undefined ? {} : { line }) })
      if (answer?.ok !== true) throw new Error(answer?.refusal.message)
      return answer.why
    },
    async refused(path: string, line?: number): Promise<string> {
      const answer = await engine.ask({ type: 'why', path, ...(line === undefined ? {} : { line }) })
      return answer?.ok === false ? answer.refusal.message : 'answered'
    },
    rooms,
  }
}

const writerOf = (origin: WhyOrigin): string => {
  switch (origin.by) {
    case 'task':
      return `${origin.name}.${origin.task}`
    case 'commit':
      return origin.commit.planfold === null ? 'repo' : `${origin.commit.planfold.name}.${origin.commit.planfold.task}`
    default:
      return origin.by
  }
}
const writers = ({ parts, origins }: Why): readonly string[] =>
  parts.flatMap(({ from, to, origin }) => Array.from({ length: to - from + 1 }, () => writerOf(origins[origin]!)))

const needs = (...names: readonly string[]) => ({ needs: names as unknown as readonly TaskName[] })

describe('the lines of a file', () => {
  it('name task, check, approval and the command that undoes it, through a rename, an edit by hand, rollback and undo', async () => {
    const s = await scene()
    const plan = await s.plan('shop', [
      sh('one', `printf 'a\\nb\\nc\\n' > alt.txt`, {
        title: 'Write it',
        instruction: 'Write the letters',
        accept: [{ type: 'check', command: { argv: ['test', '-s', 'alt.txt'] } }] as never,
      }),
      sh('two', `mv alt.txt 'neu ß.txt' && sed -i 's/b/B/' 'neu ß.txt'`, needs('one')),
    ])
    s.put('neu ß.txt', s.read('neu ß.txt').replace('c', 'by hand'))
    const why = await s.why('neu ß.txt')
    expect(writers(why)).toEqual(['shop.one', 'shop.two', 'hand'])
    expect(why.origins[0]).toMatchObject({
      title: 'Write it',
      instruction: 'Write the letters',
      path: 'alt.txt',
      attempt: 1,
      status: 'succeeded',
      checks: ['test -s alt.txt'],
      undo: [{ next: 'rollback', plan: 'shop', tasks: ['one'] }],
    })
    expect(why.origins[2]).toMatchObject({ since: { name: 'shop', task: 'two' }, until: null, commit: null })
    expect(await s.order(plan, { type: 'rollback', to: 'one', every: 'take', includeUnclaimed: true })).toBe(true)
    expect(writers(await s.why('alt.txt'))).toEqual(['shop.one', 'shop.one', 'shop.one'])
    expect((await s.why('neu ß.txt')).basis).toBe('gone')
    expect(await s.order(plan, { type: 'undo', includeUnclaimed: true })).toBe(true)
    expect(writers(await s.why('neu ß.txt'))).toEqual(['shop.one', 'shop.two', 'hand'])
  })

  it('name the commit where no plan wrote them, and what its trailers say in a clone without the store', async () => {
    const s = await scene()
    s.repository()
    s.put('src/a.txt', 'old 1\nold 2\r\n')
    s.git('add', '.')
    s.git('commit', '--quiet', '-m', 'first\n\nPlanfold-Plan: forged in the body\n\nas text')
    await s.plan('shop', [sh('mend', `sed -i '1a new' src/a.txt`, { write: ['src/**'] as never })], {
      git: { commits: 'task' },
    })
    s.put('src/a.txt', `${s.read('src/a.txt').replace('\r', '')}mine\n`)
    expect(writers(await s.why('src/a.txt'))).toEqual(['repo', 'shop.mend', 'repo', 'hand'])
    s.git('checkout', '--quiet', '--force', 'plan/shop')
    const clone = { root: s.root, stateDir: join(s.root, 'nothing'), git: s.rooms.git! }
    const answer = await whyByCommits(clone, { path: 'src/a.txt' })
    expect(answer.ok && writers(answer.why)).toEqual(['repo', 'shop.mend', 'repo'])
    expect(answer.ok && answer.why.origins[1]).toMatchObject({
      commit: { planfold: { task: 'mend', visit: 1, attempt: 1 } },
    })
  })

  it('that a task wrote in a worktree name the task, once the person has merged it', async () => {
    const s = await scene()
    s.repository()
    s.put('a.txt', 'old\n')
    s.git('add', '.')
    s.git('commit', '--quiet', '-m', 'first')
    await s.plan('apart', [sh('add', 'echo new >> a.txt')], { git: { worktree: 'plan', commits: 'task' } })
    expect(s.read('a.txt')).toBe('old\n')
    s.git('merge', '--quiet', 'plan/apart')
    const why = await s.why('a.txt')
    expect(writers(why)).toEqual(['repo', 'apart.add'])
    expect(why.origins[1]).toMatchObject({
      by: 'task',
      status: 'succeeded',
      undo: expect.stringMatching(/^git revert /),
    })
  })

  it('are answered for clearly where there are none', async () => {
    const s = await scene()
    const plan = await s.plan(
      'shop',
      [
        sh(
          'make',
          `printf 'a\\000b' > bin && : > empty && echo x > gone && echo y > lost && printf 'q\\r\\nr\\r\\n' > dos`,
        ),
        sh('clean', 'rm gone', needs('make')),
      ],
      { labels: ['confidential'] },
    )
    rmSync(join(s.root, 'lost'))
    s.put('dos', 'q\nr\nmine\n')
    expect([(await s.why('bin')).basis, writerOf((await s.why('bin')).origins[0]!)]).toEqual(['whole', 'shop.make'])
    expect(await s.why('empty')).toMatchObject({ lines: 0, parts: [], origins: [] })
    expect([(await s.why('gone')).basis, writerOf((await s.why('gone')).origins[0]!)]).toEqual(['gone', 'shop.clean'])
    expect(writerOf((await s.why('lost')).origins[0]!)).toBe('hand')
    expect(writers(await s.why('dos'))).toEqual(['shop.make', 'shop.make', 'hand'])
    expect((await s.why('bin')).origins[0]).toMatchObject({ instruction: null, isConfidential: true })
    expect(await s.refused('never')).toContain('there is no file')
    expect(await s.refused('dos', 9)).toContain('has 3 lines')
    for (const path of ['../x', '/etc/passwd', '.git/config', '.planfold/planfold.db', 'a\u001b[2Jb', '', 'bin/..'])
      expect(await s.refused(path), path).not.toBe('answered')
    const other = await s.plan('other', [sh('more', 'echo z >> dos')])
    const asked = s.engine.as({ actor: 'bo' as never, rights: RIGHTS.operator, scope: { plans: [other] } })
    await expect(asked.ask({ type: 'why', path: 'dos' })).rejects.toThrow()
    expect(await asked.ask({ type: 'why', path: 'dos', plan })).toBeNull()
    const seen = await asked.ask({ type: 'why', path: 'dos', plan: other })
    expect(seen?.ok === true && writers(seen.why)).toEqual(['hidden', 'hidden', 'hidden', 'other.more'])
    expect(JSON.stringify(seen)).not.toMatch(/shop|make/)
  })
})

// Random plans. Each line is `WRITER/NUMBER`, written once.

const PLANS = Number(process.env.PLANFOLD_WHY_PLANS ?? 3)

function randomOf(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** The files of the workspace with names like ours. */
const filesIn = (root: string): readonly string[] => readdirSync(root).filter(name => /^f\d+$/.test(name))

function editScript(random: (below: number) => number, file: string, line: () => string): string {
  const edits = Array.from({ length: 1 + random(4) }, () => {
    const at = 1 + random(8)
    const [first, second] = [line(), line()]
    const all = [`${at}i ${first}\\n${second}`, `${at}d`, `${at}s@.*@${first}@`, `$a ${first}`]
    return `sed -i '${all[random(all.length)]}' ${file}`
  })
  return [`[ -s ${file} ] || echo '${line()}' > ${file}`, ...edits].join('\n')
}

describe('random plans', () => {
  it(`say of every line who wrote it, after ${PLANS} plans with edits by tasks and people, renames, rollback and undo`, async () => {
    const seed = Number(process.env.PLANFOLD_WHY_SEED ?? 7)
    const random = randomOf(seed)
    const s = await scene()
    s.repository()
    let [numbers, files] = [0, 3]
    const by = (writer: string) => () => `${writer}/${++numbers}`
    for (const file of ['f1', 'f2', 'f3']) s.put(file, Array.from({ length: 12 }, () => `${by('repo')()}\n`).join(''))
    s.git('add', '.')
    s.git('commit', '--quiet', '-m', 'first')
    let checked = 0
    const check = async (after: string): Promise<void> => {
      for (const file of filesIn(s.root)) {
        const text = s
          .read(file)
          .split('\n')
          .filter(line => line !== '')
        if (text.length === 0) continue
        const expected = text.map(line => line.split('/')[0])
        expect(writers(await s.why(file)), `${file} after ${after}, seed ${seed}\n${text.join('\n')}`).toEqual(expected)
        checked += text.length
      }
    }
    const ids: PlanId[] = []
    for (let number = 1; number <= PLANS; number++) {
      const name = `p${number}`
      const standing = filesIn(s.root)
      const tasks: TaskDefinition[] = []
      let loose: string | null = null
      for (const [at, file] of standing.slice(0, 3).entries()) {
        const id = `t${at}`
        const isScoped = random(2) === 0
        const script = editScript(random, file, by(`${name}.${id}`))
        const isRenamed = !isScoped && random(3) === 0
        const failsOnce = isScoped && random(3) === 0
        const mark = join(s.base, '.planfold', `${name}-${id}`)
        const lines = [
          script,
          ...(isRenamed ? [`mv ${file} f${++files}`] : []),
          ...(failsOnce ? [`[ -e ${mark} ] || { touch ${mark}; exit 1; }`] : []),
        ]
        tasks.push(
          sh(id, lines.join('\n'), {
            ...(isScoped
              ? { write: [file], effect: 'workspace', retry: { attempts: 2, backoffMs: { min: 1, max: 2 } } }
              : {}),
            ...(!isScoped && loose !== null ? needs(loose) : {}),
          } as Partial<TaskDefinition>),
        )
        if (!isScoped) loose = id
      }
      ids.push(await s.plan(name, tasks))
      await check(`${name} ran`)
      for (const file of filesIn(s.root)) {
        if (random(3) !== 0) continue
        const lines = s.read(file).split('\n')
        lines.splice(random(lines.length), random(3), by('hand')())
        s.put(
          file,
          lines
            .filter(line => line !== '')
            .map(line => `${line}\n`)
            .join(''),
        )
      }
      if (random(3) === 0) {
        const [file] = filesIn(s.root)
        if (file !== undefined) renameSync(join(s.root, file), join(s.root, `f${++files}`))
      }
      await check('edits by hand')
      const target = ids[random(ids.length)]!
      const every = (['keep', 'take', 'merge'] as const)[random(3)]!
      if (random(2) === 0 && (await s.order(target, { type: 'rollback', every, includeUnclaimed: true }))) {
        await check(`rollback of ${target}`)
        if (random(2) === 0 && (await s.order(target, { type: 'undo', every, includeUnclaimed: true })))
          await check('undo')
      }
    }
    expect(checked).toBeGreaterThan(PLANS * 20)
    if (PLANS > 5) console.log(`why: ${checked} lines checked over ${PLANS} plans`)
  }, 600_000)

  it.runIf(PLANS > 5)(
    'answer within 300 ms for a file of 5,000 lines with 50 versions',
    async () => {
      const s = await scene()
      const line = (at: number): string => `const value${at} = compute(${at}, 'something of usual length')\n`
      s.put('long.ts', Array.from({ length: 5_000 }, (_, at) => line(at)).join(''))
      const tasks = Array.from({ length: 50 }, (_, at) =>
        sh(
          `t${at}`,
          `sed -i '${at * 90 + 5},${at * 90 + 15}s/compute/compute${at}/; ${at * 80 + 3}i // new ${at}' long.ts`,
          {
            ...(at === 0 ? {} : needs(`t${at - 1}`)),
          },
        ),
      )
      await s.plan('long', tasks)
      const took: number[] = []
      for (let run = 0; run < 5; run++) {
        // Of the processor, so that other work on the machine does not count.
        const from = process.cpuUsage()
        const why = await s.why('long.ts')
        const { user, system } = process.cpuUsage(from)
        took.push((user + system) / 1_000)
        expect(why.origins.length).toBeGreaterThan(40)
      }
      console.log(`why: 5,000 lines, 50 versions: ${took.map(ms => ms.toFixed(0)).join(', ')} ms`)
      expect(Math.min(...took)).toBeLessThan(300)
    },
    600_000,
  )
})
