// Snapshots of a workspace side by side with a shadow git repository on the same tree: first capture, whole-tree increment with
// 50 files changed, nothing changed, a declared scope of 50 files, restoring 50 files, and bytes on disk for each increment.
// Candidates are interleaved; of three rounds the medians count. Ours is durable when it answers; git is left at its defaults, which sync no loose objects.
// `BENCH_FILES=250000` measures a larger tree.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BlobsFiles } from '../src/stores/sqlite/blobs.ts'
import { openWorkspace } from '../src/workspace/scope-workspace.ts'
import { openSnapshots } from '../src/workspace/snapshots.ts'

const FILES = Number(process.env.BENCH_FILES ?? 10_000)
const BYTES = Number(process.env.BENCH_FILE_BYTES ?? 10_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const CHANGED = 50
const IN_FOLDER = 50

export async function workspaceBench(): Promise<void> {
  const found = new Map<string, number[]>()
  for (let round = 0; round < ROUNDS; round++) {
    const base = mkdtempSync(join(tmpdir(), 'planfold-workspace-'))
    try {
      await oneRound(base, (what, value) => found.set(what, [...(found.get(what) ?? []), value]))
    } finally {
      rmSync(base, { recursive: true, force: true })
    }
  }
  const middle = (what: string): number => {
    const values = (found.get(what) ?? []).toSorted((a, b) => a - b)
    return values[Math.floor(values.length / 2)] ?? Number.NaN
  }
  console.log(
    `${FILES} files of ${BYTES} bytes, ${CHANGED} changed; ${ROUNDS} rounds, medians; ${execFileSync('git', ['--version']).toString().trim()}`,
  )
  const row = (what: string, git: string, goal: string) => ({
    what,
    'planfold ms': round(middle(`planfold ${what}`)),
    'git ms': round(middle(`git ${git}`)),
    'of git': `${(middle(`planfold ${what}`) / middle(`git ${git}`)).toFixed(2)}×`,
    goal,
  })
  console.table([
    row('first', 'first', '≤ 0.5×'),
    row('increment', 'increment', '≤ 1.0×'),
    row('increment in a new process', 'increment', ''),
    row('nothing changed', 'nothing changed', ''),
    row('scope of 50', 'increment', '≤ 0.15×'),
    row('restore 50', 'restore 50', '≤ 0.7×'),
  ])
  console.log(
    `KB for each increment: planfold ${round(middle('planfold KB'))}, git ${round(middle('git KB'))}; contents ${round((CHANGED * BYTES) / 1024)}`,
  )
}

async function oneRound(base: string, note: (what: string, value: number) => void): Promise<void> {
  const root = join(base, 'work')
  const stateDir = join(base, 'state')
  makeTree(root)
  let id = 0
  const blobs = () =>
    new BlobsFiles({ folder: join(stateDir, 'blobs'), now: Date.now, newId: () => `${process.pid}-${++id}` })
  const rooms = { root, stateDir, now: Date.now }
  const store = blobs()
  const snapshots = openSnapshots({ ...rooms, blobs: store })
  const workspace = openWorkspace({ ...rooms, blobs: store })
  const git = shadowGit(base, root)

  await timed('git first', note, () => git.capture())
  const first = ok(await timed('planfold first', note, () => snapshots.snapshot()))
  if (first.files !== FILES) throw new Error(`planfold captured ${first.files} of ${FILES} files`)

  let [mine, theirs] = [first.manifest, git.head()]
  for (let step = 0; step < 5; step++) {
    const paths = change(root)
    const [ourBytes, gitBytes] = [diskBytes(join(stateDir, 'blobs')), diskBytes(git.folder)]
    const order = [
      async () => {
        const { manifest } = ok(await timed('planfold increment', note, () => snapshots.snapshot()))
        note('planfold KB', (diskBytes(join(stateDir, 'blobs')) - ourBytes) / 1024)
        const { changes } = ok(await snapshots.diff(mine, manifest))
        if (changes.length !== CHANGED) throw new Error(`${changes.length} changes seen, not ${CHANGED}`)
        const restore = await timed('planfold restore 50', note, () =>
          snapshots.rollback(
            mine,
            changes.map(({ path, after }) => [path, after] as const),
          ),
        )
        if (ok(restore).changed.length !== CHANGED) throw new Error('not everything was restored')
        ok(
          await snapshots.rollback(
            ok(restore).saved,
            ok(restore).changed.map(({ path, after }) => [path, after] as const),
          ),
        )
        mine = manifest
      },
      async () => {
        await timed('git increment', note, () => git.capture())
        note('git KB', (diskBytes(git.folder) - gitBytes) / 1024)
        await timed('git restore 50', note, () => git.restore(theirs, paths))
        git.restore(git.head(), paths)
        theirs = git.head()
      },
    ]
    for (const each of step % 2 === 0 ? order : order.toReversed()) await each()
    await timed('git nothing changed', note, () => git.capture())
    ok(await timed('planfold nothing changed', note, () => snapshots.snapshot()))

    change(root)
    await timed('git increment', note, () => git.capture())
    ok(
      await timed('planfold increment in a new process', note, () =>
        openSnapshots({ ...rooms, blobs: blobs() }).snapshot(),
      ),
    )
    ok(await snapshots.snapshot())
    theirs = git.head()
    mine = ok(await snapshots.snapshot()).manifest

    const scope = changeFolder(root, step)
    const captured = ok(await timed('planfold scope of 50', note, () => workspace.capture(scope)))
    if (captured.files !== CHANGED) throw new Error(`the scope held ${captured.files} files`)
    git.capture()
    theirs = git.head()
    mine = ok(await snapshots.snapshot()).manifest
  }
}

function makeTree(root: string): void {
  const old = Date.now() / 1000 - 3_600
  for (let at = 0; at < FILES; at++) {
    const folder = folderOf(root, at)
    if (at % IN_FOLDER === 0) mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file-${at}.txt`), contents())
    utimesSync(join(folder, `file-${at}.txt`), old, old)
  }
}

const folderOf = (root: string, at: number): string =>
  join(root, `part-${Math.floor(at / IN_FOLDER / 10)}`, `folder-${Math.floor(at / IN_FOLDER)}`)

/** Half of it can be compressed, as in source code. */
const contents = (): string =>
  randomBytes(Math.ceil(BYTES / 2))
    .toString('hex')
    .slice(0, BYTES)

function change(root: string): readonly string[] {
  const paths = Array.from({ length: CHANGED }, (_, at) => {
    const file = Math.floor((FILES / CHANGED) * at + Math.random() * (FILES / CHANGED))
    return join(folderOf('', file), `file-${file}.txt`)
  })
  for (const path of paths) writeFileSync(join(root, path), contents())
  return paths
}

function changeFolder(root: string, step: number): readonly string[] {
  const from = step * IN_FOLDER
  const paths = Array.from({ length: CHANGED }, (_, at) => join(folderOf('', from), `file-${from + at}.txt`))
  for (const path of paths) writeFileSync(join(root, path), contents())
  return [`${folderOf('', from)}/**`]
}

function shadowGit(base: string, root: string) {
  const folder = join(base, 'shadow.git')
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: base,
    GIT_DIR: folder,
    GIT_WORK_TREE: root,
    GIT_CONFIG_SYSTEM: '/dev/null',
  }
  const git = (...args: string[]): string =>
    execFileSync('git', args, { env, cwd: root, encoding: 'utf8', maxBuffer: 1e9 }).trim()
  git('init', '-q')
  const settings = {
    'user.name': 'bench',
    'user.email': 'bench@example.com',
    'gc.auto': '0',
    'maintenance.auto': 'false',
  }
  for (const [key, value] of Object.entries(settings)) git('config', key, value)
  return {
    folder,
    head: () => git('rev-parse', 'HEAD'),
    capture: () => {
      git('add', '-A')
      git('commit', '-q', '--allow-empty', '--no-verify', '-m', 'checkpoint')
    },
    restore: (commit: string, paths: readonly string[]) => void git('checkout', '-q', commit, '--', ...paths),
  }
}

function diskBytes(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    return sum + (entry.isDirectory() ? diskBytes(path) : statSync(path).size)
  }, 0)
}

async function timed<T>(
  what: string,
  note: (what: string, ms: number) => void,
  work: () => T | Promise<T>,
): Promise<T> {
  const began = performance.now()
  const value = await work()
  note(what, performance.now() - began)
  return value
}

function ok<T extends { readonly ok: boolean }>(answer: T): Extract<T, { ok: true }> {
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  return answer as Extract<T, { ok: true }>
}

const round = (value: number): number => Math.round(value * 10) / 10

if (process.argv[1] !== undefined && /workspace\.(ts|js)$/.test(process.argv[1])) await workspaceBench()
