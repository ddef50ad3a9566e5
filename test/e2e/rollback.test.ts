// Going back and forward with the built command, in real folders. What a folder should hold is said by a second folder in which
// a shell did the same work, and judged by a shell.

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { place as openPlace } from './in-process.fixture.ts'
import { jsonBy, MAIN, type Place } from './planfold.fixture.ts'
import { gitHash, sh, treeHash } from './tree.fixture.ts'

/**
 * The tasks here declare nothing, so all that changed while they ran might be a person's. Nobody works beside them: everything is included. What
 * stays without that is in `src/engine/rollback/unclaimed-paths.test.ts` and `src/cli/commands/undo/rollback.test.ts`.
 */
const including = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'rollback' ? [...argv, '--include-unclaimed'] : argv

async function place(): Promise<Place> {
  const opened = await openPlace()
  const planfold: Place['planfold'] = (...argv) => opened.planfold(...including(argv))
  return { ...opened, planfold, json: jsonBy(planfold), start: (...argv) => opened.start(...including(argv)) }
}

let here: Place
let model: { readonly folder: string; readonly expected: readonly string[] }
beforeAll(async () => {
  const first = await place()
  here = first
  await work()
  model = { folder: first.folder, expected: await hashesByShell() }
})
afterAll(() => rm(model.folder, { recursive: true, force: true }))
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const GROUND = `mkdir -p src docs empty; printf 'one\\ntwo\\nthree\\nfour\\nfive\\n' > src/a.txt; printf 'b\\n' > src/b.txt
printf '#!/bin/sh\\n' > tool.sh; printf 'old\\n' > old.txt; ln -s src/a.txt link; printf 'node\\n' > docs/note.md; head -c 300 /dev/zero > docs/zeros`

/** What each task does; the last but one is done by an agent. */
const WORK: readonly (readonly [task: string, script: string])[] = [
  ['sed', `sed -i s/two/TWO/ src/a.txt`],
  ['move', `mv src/b.txt src/c.txt && chmod 755 tool.sh`],
  [
    'gen',
    `mkdir -p out/deep && head -c 70000 /dev/zero | tr '\\0' '\\377' > out/deep/blob && printf '%s\\n' gen > ' odd name'`,
  ],
  ['links', `rm link && ln -s docs link && rm -r empty old.txt && mkdir old.txt && chmod 700 docs`],
  ['agent', `printf 'agent\\n' >> src/a.txt; rm docs/zeros; printf x > "$(printf 'new\\nline')"`],
  ['last', `rm -r out && printf 'file now\\n' > out && chmod 600 src/c.txt`],
]

const QUOTED = (script: string): string => JSON.stringify(script)
const PLAN = `planfold: 1
name: work
tasks:
${WORK.map(([task, script], at) => {
  const needs = at === 0 ? '' : `, needs: [${WORK[at - 1]![0]}]`
  return task === 'agent' ? `  - { id: agent${needs} }` : `  - { id: ${task}${needs}, run: ${QUOTED(script)} }`
}).join('\n')}
`

/** The hashes of the folder before the first task and after each, by a shell alone. */
async function hashesByShell(): Promise<readonly string[]> {
  const twin = await mkdtemp(join(tmpdir(), 'planfold-twin-'))
  try {
    sh(twin, GROUND)
    await writeFile(join(twin, 'plan.yaml'), PLAN)
    return [
      treeHash(twin),
      ...WORK.map(([, script]) => {
        sh(twin, script)
        return treeHash(twin)
      }),
    ]
  } finally {
    await rm(twin, { recursive: true, force: true })
  }
}

/** A copy of the folder in which the plan was run to its end. */
const worked = (): string => sh(here.folder, `cp -a ${model.folder}/. .`)

async function work(): Promise<void> {
  sh(here.folder, GROUND)
  await here.write('plan.yaml', PLAN)
  expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
  const { token } = (await here.json('claim', 'work', 'agent')) as { token: string }
  sh(here.folder, WORK.find(([task]) => task === 'agent')![1])
  expect(await here.planfold('report', '--status', 'done', 'work', 'agent', '--token', token)).toMatchObject({
    exit: 0,
  })
  expect(await here.planfold('resume', 'work')).toMatchObject({ exit: 0 })
}

interface Listed {
  readonly items: readonly { readonly name: string; readonly task: string; readonly version: number }[]
}
const checkpoints = async (plan = 'work') => ((await here.json('checkpoint', 'list', plan)) as Listed).items
const hash = () => treeHash(here.folder)

describe('planfold rollback', () => {
  it('regression 22: every checkpoint comes back byte by byte, and every way leads forward again', async () => {
    const { expected } = model
    worked()
    expect(hash()).toBe(expected.at(-1))
    const all = await checkpoints()
    expect(all.map(({ task }) => task)).toEqual(WORK.map(([task]) => task))
    // From the end to the start, one after the other, then back in one leap and forward again.
    for (const [at, { name }] of [...all.entries()].toReversed().slice(1)) {
      const said = await here.planfold('rollback', 'work', '--to', name)
      expect(said, said.stdout + said.stderr).toMatchObject({ exit: 0, stderr: '' })
      expect(hash(), name).toBe(expected[at + 1])
    }
    expect(await here.planfold('rollback', 'work', '--yes')).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected[0])
    expect(await here.planfold('undo', 'work')).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected[1])
    // A checkpoint may lie ahead as well.
    expect(await here.planfold('rollback', 'work', '--to', all[3]!.name)).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected[4])
    expect(await here.planfold('doctor', 'store', '--read-data')).toMatchObject({ exit: 0 })
  })

  it('requirement 92: undo and redo go on for as long as one likes, and all of it is in the log with who did it', async () => {
    const { expected } = model
    worked()
    const [first] = await checkpoints()
    const back = await here.planfold('rollback', 'work', '--to', first!.name, '--as', 'bea@example.com')
    expect(back.stdout).toContain(`✔ work: rolled back to ${first!.name}; `)
    expect(back.stdout).toContain('Undo: planfold undo work')
    expect(back.stdout).toContain('Next: planfold resume work')
    expect(await here.planfold('status', 'work')).toMatchObject({
      stdout: expect.stringContaining(`work paused (rolled back to ${first!.name})`),
    })
    for (const [turn, should] of [expected.at(-1), expected[1], expected.at(-1), expected[1]].entries()) {
      expect(await here.planfold('undo', 'work'), `undo ${turn}`).toMatchObject({ exit: 0 })
      expect(hash(), `undo ${turn}`).toBe(should)
    }
    const log = (await here.json('log', 'work')) as { items: { type: string; actor: string }[] }
    const started = log.items.filter(({ type }) => type === 'rollback.started')
    expect(started.map(({ actor }) => actor)).toEqual(['bea@example.com', ...Array(4).fill('ana@example.com')])
    expect(log.items.filter(({ type }) => type === 'rollback.finished')).toHaveLength(5)
    // The work that was taken back is done again, and comes to the same end.
    expect(await here.planfold('resume', 'work')).toMatchObject({ exit: 4 })
    expect((await here.json('status', 'work')) as object).toMatchObject({
      progress: { counts: { ready: 1, completed: 4 } },
    })
  })

  it('shows every file and what will happen first; a dry run ends there', async () => {
    worked()
    const before = hash()
    const [, second] = await checkpoints()
    const said = await here.planfold('rollback', 'work', '--to', second!.name, '--dry-run')
    expect(said).toMatchObject({ exit: 0, stderr: 'dry run: nothing was changed\n' })
    expect(said.stdout).toMatch(/^roll work back to cp-move-\S+ \(entry \d+, after move, /)
    for (const line of [
      'restore  src/a.txt',
      'mode     docs',
      "delete   ' odd name'",
      'create   docs/zeros',
      'restore  link',
      'delete   out',
      'delete   new\\u{a}line',
      'create   empty',
      'restore  old.txt',
    ])
      expect(said.stdout).toContain(line)
    expect(said.stdout).toContain('tasks     will run again: gen, links, agent, last')
    expect(said.stdout).toContain('remains   gen, links, last: may have changed external systems')
    const json = (await here.json('rollback', 'work', '--to', second!.name, '--dry-run')) as {
      preview: { files: unknown[] }
    }
    expect(json).toMatchObject({
      name: 'work',
      dryRun: true,
      conflicts: [],
      ways: [],
      preview: { kind: 'rollback', checkpoint: { name: second!.name } },
    })
    expect(json.preview.files).toContainEqual(expect.objectContaining({ path: 'new\nline', will: 'delete' }))
    expect(hash()).toBe(before)
    expect(await here.json('status', 'work')).toMatchObject({ status: 'completed' })
  })

  it('regression 23: unrelated work, tracked or not, and all of .git stay as they are', async () => {
    sh(
      here.folder,
      `${GROUND}; git init -q -b main .; git config user.email a@example.com; git config user.name a
       printf 'ignored/\\n*.log\\n' > .gitignore; git add .; git commit -qm first; printf 'more\\n' >> docs/note.md; git stash -q
       printf 'unstaged\\n' >> src/b.txt; printf 'staged\\n' > staged.txt; git add staged.txt; printf 'untracked\\n' > untracked.txt
       mkdir ignored; printf 'i\\n' > ignored/i; printf 'l\\n' > a.log; git commit -q --allow-empty -m 'unpushed, by a person'`,
    )
    await here.write(
      'plan.yaml',
      `planfold: 1\nname: work\ntasks:\n  - { id: edit, run: ${QUOTED('sed -i s/two/TWO/ src/a.txt; printf new > made.txt; printf log > plan.log; mkdir -p ignored/sub')} }\n`,
    )
    const [tree, git] = [hash(), gitHash(here.folder)]
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
    sh(
      here.folder,
      `printf 'meanwhile\\n' > meanwhile.txt; printf 'm\\n' > ignored/m; printf 'again\\n' >> staged.txt; rm -f plan.log; rm -rf ignored/sub`,
    )
    expect(await here.planfold('rollback', 'work', '--yes')).toMatchObject({ exit: 0 })
    sh(
      here.folder,
      `test "$(cat meanwhile.txt ignored/m)" = "$(printf 'meanwhile\\nm')"; rm meanwhile.txt ignored/m; printf 'staged\\n' > staged.txt`,
    )
    expect(hash()).toBe(tree)
    expect(gitHash(here.folder)).toBe(git)
  })

  it('only some files, seen from where a person stands; only some tasks; only files', async () => {
    const { expected } = model
    worked()
    const inSrc = await run(['rollback', 'work', '--files', 'a.txt', '../docs'], { cwd: join(here.folder, 'src') })
    expect(inSrc, inSrc.stdout + inSrc.stderr).toMatchObject({ exit: 0 })
    expect(inSrc.stdout).toContain('tasks     unchanged')
    expect(await here.read('src/a.txt')).toBe('one\ntwo\nthree\nfour\nfive\n')
    expect(await here.files()).toEqual(expect.arrayContaining([' odd name', 'out', 'new\nline']))
    expect(sh(here.folder, 'stat -c %a docs; stat -c %s docs/zeros')).toBe('755\n300\n')
    expect(await here.json('status', 'work')).toMatchObject({ status: 'completed' })
    expect(await here.planfold('undo', 'work')).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected.at(-1))
    // Only the files of one task; it and what came after it are open again.
    expect(await here.planfold('rollback', 'work', '--tasks', 'last')).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected.at(-2))
    expect(await here.json('status', 'work')).toMatchObject({ status: 'paused', progress: { done: 5 } })
    expect(await here.planfold('undo', 'work')).toMatchObject({ exit: 0 })
    expect(await here.planfold('rollback', 'work', '--files-only', '--yes')).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected[0])
    expect(await here.json('status', 'work')).toMatchObject({ status: 'completed', progress: { done: 6 } })
    // Mistakes are told, and change nothing.
    for (const [argv, message] of [
      [['--files', 'nothing'], /wrote nothing since then that matches 'nothing'/],
      [['--files', '../elsewhere'], /is outside the workspace/],
      [['--tasks', 'lst'], /has no task 'lst'[\s\S]*did you mean 'last'/],
      [['--to', 'cp-nowhere'], /no task, checkpoint or entry 'cp-nowhere'/],
      [['--keep', 'all', '--merge', 'all'], /only one option/],
    ] as const) {
      const said = await here.planfold('rollback', 'work', ...argv)
      expect(said.exit, argv.join(' ')).toBe(2)
      expect(said.stderr).toMatch(message)
    }
    expect(hash()).toBe(expected[0])
  })
})

describe('where somebody has worked since', () => {
  const HUMAN = `printf 'zero\\n' | cat - src/a.txt > t && cat t > src/a.txt && rm t; printf 'mine\\n' > src/c.txt; rm 'new
line'; printf 'again\\n' > docs/zeros`

  it('a rollback stops with a list and the commands that go on, and changes nothing', async () => {
    worked()
    sh(here.folder, HUMAN)
    const before = hash()
    const said = await here.planfold('rollback', 'work', '--yes')
    expect(said.exit).toBe(3)
    expect(said.stdout).toContain('! restore  src/a.txt  edited since, not by the plan')
    expect(said.stdout).toContain('! delete   src/c.txt  edited since, not by the plan')
    expect(said.stdout).toContain('! restore  docs/zeros  created since, not by the plan')
    expect(said.stdout).toContain('  planfold rollback work --include-unclaimed --keep all\n')
    expect(said.stderr).toMatch(/^error: nothing was changed: 3 paths edited since, not by the plan\nhint: /)
    const json = JSON.parse((await here.planfold('rollback', 'work', '--json')).stdout) as {
      error: { code: string; conflicts: { path: string }[]; ways: { run: string }[] }
    }
    expect(json.error.code).toBe('conflict')
    expect(json.error.conflicts.map(({ path }) => path).sort()).toEqual(['docs/zeros', 'src/a.txt', 'src/c.txt'])
    expect(json.error.ways.map(({ run }) => run)).toEqual(
      ['--keep', '--take', '--merge'].map(way => `planfold rollback work --include-unclaimed ${way} all`),
    )
    expect(hash()).toBe(before)
    expect(await here.json('status', 'work')).toMatchObject({ status: 'completed' })
  })

  it('each choice does what it says, and every byte of a person is in place or can be had by its hash', async () => {
    const { expected } = model
    worked()
    sh(here.folder, HUMAN)
    const theirs = hash()
    const human = { 'src/a.txt': await here.read('src/a.txt'), 'src/c.txt': 'mine\n', 'docs/zeros': 'again\n' }
    const said = await here.planfold('rollback', 'work', '--keep', 'src/c.txt', '--merge', 'src/a.txt', '--take', 'all')
    expect(said, said.stdout + said.stderr).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout).toMatch(/kept +src\/c.txt: kept/)
    expect(await here.read('src/c.txt')).toBe('mine\n')
    // Their line at the top, the plan's lines gone.
    expect(await here.read('src/a.txt')).toBe('zero\none\ntwo\nthree\nfour\nfive\n')
    const kept = new Map(
      [...said.stdout.matchAll(/kept +the previous version of (\S+) is backed up as ([0-9a-f]{64})/g)].map(
        ([, path, sha256]) => [path, sha256],
      ),
    )
    expect([...kept.keys()].sort()).toEqual(['docs/zeros', 'src/a.txt'])
    for (const [path, sha256] of kept) {
      expect((await here.planfold('checkpoint', 'cat', 'work', sha256!)).stdout).toBe(human[path as keyof typeof human])
      expect(said.stdout).toContain(`planfold checkpoint cat work ${sha256} > `)
    }
    expect(await here.planfold('undo', 'work')).toMatchObject({ exit: 0 })
    expect(hash()).toBe(theirs)
    const forced = await here.planfold('rollback', 'work', '--force')
    expect(forced, forced.stdout).toMatchObject({ exit: 0 })
    expect(hash()).toBe(expected[0])
    for (const content of Object.values(human)) {
      const shas = [...forced.stdout.matchAll(/backed up as ([0-9a-f]{64})/g)].map(match => match[1]!)
      const stored = await Promise.all(
        shas.map(async sha256 => (await here.planfold('checkpoint', 'cat', 'work', sha256)).stdout),
      )
      expect(stored).toContain(content)
    }
  })

  it('an undo stops, too, and what cannot be merged is left and said', async () => {
    worked()
    expect(await here.planfold('rollback', 'work', '--yes')).toMatchObject({ exit: 0 })
    await here.write('src/a.txt', 'something else altogether\n')
    const stopped = await here.planfold('undo', 'work')
    expect(stopped).toMatchObject({ exit: 3 })
    expect(stopped.stdout).toContain('planfold undo work --merge src/a.txt')
    expect(stopped.stdout).toMatch(/! restore {2}src\/a.txt {2}edited since, not by the plan/)
    const merged = await here.planfold('undo', 'work', '--merge', 'src/a.txt')
    expect(merged.exit).toBe(1)
    expect(merged.stdout).toContain('! work: the last rollback was undone, except 1 path; ')
    expect(merged.stdout).toContain('kept     src/a.txt: the edits do not merge cleanly')
    expect(await here.read('src/a.txt')).toBe('something else altogether\n')
  })

  it('names that would drive a terminal are shown harmless, and can be typed as they are shown', async () => {
    await here.write(
      'plan.yaml',
      `planfold: 1\nname: odd\ntasks:\n  - id: odd\n    run: |\n      printf '\\033]0;title\\007text\\n' > "$(printf 'esc\\033[31m')"; printf b > "$(printf 'bad\\377')"; printf c > "it's"\n`,
    )
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
    const empty = await here.planfold('checkpoint', 'odd', '--name', 'all')
    expect(empty).toMatchObject({ exit: 0, stdout: 'all\n' })
    sh(here.folder, `printf H > "$(printf 'esc\\033[31m')"; printf H > "$(printf 'bad\\377')"; printf H > "it's"`)
    const said = await here.planfold('rollback', 'odd', '--yes')
    expect(said.exit).toBe(3)
    const diff = await here.planfold('checkpoint', 'diff', 'odd', 'all', '--patch')
    expect(diff.stdout).toContain('    -\\u{1b}]0;title\\u{7}text\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not be there.
    expect(said.stdout + said.stderr + diff.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    const chosen = await here.planfold(
      'rollback',
      'odd',
      '--keep',
      'esc\\u{1b}[31m',
      '--take',
      'bad\\u{dcff}',
      '--keep',
      "it's",
    )
    expect(chosen, chosen.stderr).toMatchObject({ exit: 0 })
    expect(sh(here.folder, 'ls -b')).toBe("esc\\033[31m\nit's\nplan.yaml\n")
  })
})

describe('a rollback that is cut off', () => {
  it('regression 28: is finished by resume after a kill at any commit or stored blob, and ends exact', async () => {
    const { expected } = model
    worked()
    const [, second] = await checkpoints()
    let [kills, told] = [0, 0]
    let isBack = false
    for (const point of ['store.commit:before', 'blob.rename:before']) {
      for (let k = 1; k <= 8; k++) {
        const argv = isBack ? ['undo', 'work'] : ['rollback', 'work', '--to', second!.name]
        const said = await run(argv, { env: { PLANFOLD_FAILPOINT: `${point}:${k}` } })
        isBack = hash() === expected[2]
        if (said.exit === 0) break
        expect(said.signal, `${point}:${k} ${said.stderr}`).toBe('SIGKILL')
        kills++
        const status = await here.planfold('status', 'work')
        if (!status.stdout.includes('rollback under way: ')) continue
        const resumed = await here.planfold('resume', 'work')
        expect(resumed.stdout, resumed.stderr).toMatch(/✔ work: the rollback was finished; /)
        told++
        isBack = hash() === expected[2]
        expect(hash(), `${point}:${k}`).toBe(argv[0] === 'undo' ? expected.at(-1) : expected[2])
      }
      expect([expected[2], expected.at(-1)]).toContain(hash())
    }
    expect(kills).toBeGreaterThan(4)
    expect(told).toBeGreaterThan(2)
  })

  it('killed while it compensates, it stops with the question whether that happened; --force goes on', async () => {
    await here.write('plan.yaml', SLOW)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
    const going = here.start('rollback', 'slow', '--yes')
    await going.until('undoing')
    going.kill('SIGKILL')
    await going.ended
    expect((await here.planfold('status', 'slow')).stdout).toContain('rollback under way: to entry')
    const resumed = await here.planfold('resume', 'slow')
    expect(resumed.stdout).toContain("✖ slow was not rolled back: the undo step of 'make' failed: ")
    expect(resumed.stdout).toContain('whether the undo step took effect is unknown')
    expect(await here.read('made.txt')).toBe('made\n')
    await here.write('.planfold/go', '')
    const forced = await here.planfold('rollback', 'slow', '--force')
    expect(forced, forced.stdout).toMatchObject({ exit: 0 })
    expect(await here.files()).not.toContain('made.txt')
  })

  it('Ctrl-C leaves it under way, and says how it is finished', async () => {
    await here.write('plan.yaml', SLOW)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
    const going = here.start('rollback', 'slow', '--yes')
    await going.until('undoing')
    going.kill('SIGINT')
    await here.write('.planfold/go', '')
    const ended = await going.ended
    expect(ended, ended.stdout + ended.stderr).toMatchObject({
      exit: 130,
      stderr: expect.stringContaining('planfold resume slow'),
    })
    expect((await here.planfold('resume', 'slow')).stdout).toContain(
      '✔ slow: the rollback was finished; 1 path changed',
    )
    expect(await here.files()).not.toContain('made.txt')
  })

  it('another process that drives the plan carries it out, and this one waits for it', async () => {
    await here.write(
      'plan.yaml',
      SLOW.replace(
        'tasks:',
        'tasks:\n  - { id: hold, needs: [make], effect: idempotent, compensate: { run: "true" }, run: "echo holding; while [ ! -e never ]; do sleep 0.05; done" }',
      ),
    )
    const driver = here.start('run', 'plan.yaml')
    await driver.until('holding')
    const going = here.start('rollback', 'slow', '--yes')
    await going.until('runs the plan and does it; waiting')
    await driver.until('undoing')
    await here.write('.planfold/go', '')
    const [drove, waited] = [await driver.ended, await going.ended]
    expect(waited, waited.stdout + waited.stderr).toMatchObject({ exit: 0 })
    expect(waited.stdout).toContain('undo step of make completed')
    expect(waited.stdout).toContain('✔ slow: rolled back to before its first task')
    expect(drove.stdout).toContain('rolled back')
    expect(drove.exit).toBe(4)
    expect(await here.files()).not.toContain('made.txt')
  })
})

const SLOW = `planfold: 1
name: slow
tasks:
  - id: make
    run: printf 'made\\n' > made.txt
    compensate: { run: "echo undoing; while [ ! -e .planfold/go ]; do sleep 0.05; done" }
`

describe('compensations', () => {
  const FAILING = `planfold: 1
name: failing
tasks:
  - { id: make, run: "printf made > made.txt", compensate: { run: "echo no way; exit 7" } }
  - { id: ask, needs: [make], gate: approval }
`
  it('one that fails stops the rollback with exit 1 and changes no file; --force goes on and names it', async () => {
    await here.write('plan.yaml', FAILING)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
    const stopped = await here.planfold('rollback', 'failing', '--yes')
    expect(stopped.exit).toBe(1)
    expect(stopped.stdout).toContain("✖ failing was not rolled back: the undo step of 'make' failed: exit 7")
    expect(await here.files()).toContain('made.txt')
    expect((await here.planfold('status', 'failing')).stdout).toContain(
      "(the rollback was stopped: the undo step of 'make' failed: exit 7",
    )
    const forced = await here.planfold('rollback', 'failing', '--force')
    expect(forced.exit).toBe(1)
    expect(forced.stdout).toMatch(
      /remains +what make did, because its undo step failed \(exit 7: no way\); undo it manually/,
    )
    expect(await here.files()).not.toContain('made.txt')
  })

  it('one that fails when a plan is cancelled is named, and the exit is 1', async () => {
    await here.write('plan.yaml', FAILING)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
    const said = await here.planfold('cancel', 'failing')
    expect(said.exit).toBe(1)
    expect(said.stderr).toMatch(/^error: plan 'failing' was cancelled, but the undo step of 'make' failed: exit 7/)
    expect(await here.json('status', 'failing')).toMatchObject({ status: 'cancelled' })
  })
})

describe('planfold checkpoint list', () => {
  it('lists, shows and compares what there is, and takes one by hand', async () => {
    worked()
    const list = await here.planfold('checkpoint', 'list', 'work')
    expect(list).toMatchObject({ exit: 0, stderr: '' })
    expect(list.stdout).toMatch(/^checkpoint +entry +when +created +wrote +saved\n/)
    expect(list.stdout).toMatch(/^cp-sed-\d{8}T\d{9}Z +\d+ .* after sed +1 /m)
    const timeless = (text: string): string => text.replace(/ +(just now|\d+[sm] ago) +/g, ' ')
    expect(timeless((await here.planfold('checkpoint', 'list', 'work')).stdout)).toBe(timeless(list.stdout))
    const taken = await here.planfold('checkpoint', 'work', '--name', 'by-hand')
    expect(taken).toMatchObject({
      exit: 0,
      stdout: 'by-hand\n',
      stderr: expect.stringContaining('planfold rollback work --to by-hand'),
    })
    const [sed, move] = await checkpoints()
    const shown = await here.planfold('checkpoint', 'show', 'work', move!.name)
    expect(shown.stdout).toMatch(/completed sed, move\n/)
    expect(await here.json('checkpoint', 'show', 'work', move!.name)).toMatchObject({
      checkpoint: { name: move!.name, completed: ['sed', 'move'], status: 'active' },
    })
    const diff = await here.planfold('checkpoint', 'diff', 'work', sed!.name, move!.name)
    expect(diff.stdout).toMatch(/3 paths/)
    expect(diff.stdout).toMatch(
      /removed +src\/b.txt[^\n]*\n[^\n]*added +src\/c.txt[^\n]*\n[^\n]*mode +tool.sh +644 → 755/,
    )
    const patch = (await here.json('checkpoint', 'diff', 'work', sed!.name, '--patch')) as {
      changes: { path: string; happened: string; patch?: unknown }[]
    }
    expect(patch.changes.find(({ path }) => path === 'src/a.txt')).toMatchObject({
      happened: 'changed',
      patch: { type: 'text', lines: ['@@ -3,3 +3,4 @@', ' three', ' four', ' five', '+agent'] },
    })
    expect(patch.changes.find(({ path }) => path === 'docs/zeros')).toMatchObject({
      happened: 'removed',
      patch: { type: 'binary' },
    })
    sh(here.folder, 'printf later > later.txt')
    expect((await here.planfold('checkpoint', 'diff', 'work', 'by-hand')).stdout).toMatch(
      /by-hand → now: 1 path \(all files\)\n {2}added +later.txt/,
    )
    expect(await here.planfold('checkpoint', 'show', 'work', 'by-hnd')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("did you mean 'by-hand'?"),
    })
    expect(await here.planfold('checkpoint', 'cat', 'work', 'f'.repeat(64))).toMatchObject({ exit: 2 })
    expect(await here.planfold('checkpoint', 'cat', 'work', '../../etc')).toMatchObject({ exit: 2 })
  })
})

/** The command in another folder or with more in its environment. */
async function run(argv: readonly string[], options: { readonly cwd?: string; readonly env?: Record<string, string> }) {
  const env = {
    PATH: process.env.PATH,
    HOME: here.folder,
    TZ: 'UTC',
    PLANFOLD_AS: 'ana@example.com',
    ...options.env,
  }
  const child = spawn(process.execPath, [MAIN, ...including(argv)], {
    cwd: options.cwd ?? here.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text
    })
  return await new Promise<{ exit: number | null; signal: string | null; stdout: string; stderr: string }>(resolve =>
    child.once('close', (exit, signal) => resolve({ exit, signal, ...said })),
  )
}
