// Snapshots of a workspace side by side with a shadow git repository on the same tree: first capture, whole-tree increment with
// 50 files changed, nothing changed, a declared scope of 50 files, restoring 50 files, and bytes on disk for each increment.
// Candidates take turns within each step, and ratios are taken within the step, because the machine's speed changes.
//
// Ours is durable when it answers, so git runs twice: as it is by default, which syncs no loose objects, no index and no
// files it checks out; and durable, with `core.fsync=all` and with `sync` for the files it restored and their folders. The
// goals are judged by the durable one: what a power cut takes away was no checkpoint.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BlobsFiles } from '../src/stores/blobs/blobs.ts'
import { openWorkspace } from '../src/workspace/scope/scope-workspace.ts'
import { openSnapshots } from '../src/workspace/snapshots/snapshots.ts'
import { type Git, shadowGit } from './shadow-git.ts'

export interface WorkspaceSize {
  readonly files: number
  /** Of each file. */
  readonly bytes: number
  readonly rounds: number
  /** Checkpoints in each round. */
  readonly steps: number
  readonly gits: readonly Git['name'][]
}

export const USUAL: WorkspaceSize = {
  files: 10_000,
  bytes: 10_000,
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  steps: 7,
  gits: ['durable git', 'git'],
}
/** Without the durable one, whose first capture would take the better part of an hour. */
export const LARGE: WorkspaceSize = { files: 250_000, bytes: 400, rounds: 1, steps: 5, gits: ['git'] }

const CHANGED = 50
const IN_FOLDER = 50

/** What was measured in one step, in milliseconds or KB, by its name. */
type Measured = Map<string, number>

export async function workspaceBench(size: WorkspaceSize): Promise<void> {
  const firsts: Measured[] = []
  const steps: Measured[] = []
  for (let round = 0; round < size.rounds; round++) {
    const base = mkdtempSync(join(tmpdir(), 'planfold-workspace-'))
    try {
      await new Round(base, size).run(firsts, steps)
    } finally {
      rmSync(base, { recursive: true, force: true })
    }
  }
  const { files, bytes, rounds } = size
  console.log(
    `snapshots: ${files} files of ${bytes} bytes, ${CHANGED} changed; ${rounds} × ${size.steps} steps, medians, ratios within a step; ${execFileSync('git', ['--version']).toString().trim()}`,
  )
  const row = (from: readonly Measured[], ours: string, theirs: string, goal: string) => {
    const times = (by: string) => middle(from.map(each => each.get(by)!))
    const beside = size.gits.map(git => {
      const ratios = from.map(each => each.get(`planfold ${ours}`)! / each.get(`${git} ${theirs}`)!)
      return { [`${git} ms`]: short(times(`${git} ${theirs}`)), [`of ${git}`]: `${middle(ratios).toFixed(2)}×` }
    })
    return { what: ours, 'planfold ms': short(times(`planfold ${ours}`)), goal, ...Object.assign({}, ...beside) }
  }
  console.table([
    row(firsts, 'first', 'first', '≤ 0.5×'),
    row(steps, 'increment', 'increment', '≤ 1.0×'),
    row(steps, 'increment, newly opened', 'increment', ''),
    row(steps, 'nothing changed', 'nothing changed', ''),
    row(steps, 'scope of 50', 'increment', '≤ 0.15×'),
    row(steps, 'restore 50', 'restore 50', '≤ 0.7×'),
  ])
  // What ours does as well.
  // Told only the checkpoint, git must find the files; and with a copy of what stood there, as ours has one, it does more.
  console.table([
    row(steps, 'restore 50', 'restore 50 that git finds itself', ''),
    row(steps, 'restore 50', 'restore 50 with a copy of what stood there', ''),
  ])
  const kilobytes = (by: string) => short(middle(steps.map(each => each.get(`${by} KB`)!)))
  console.log(
    `KB for each increment: planfold ${kilobytes('planfold')}, git ${kilobytes('git')}; the changed contents are ${short((CHANGED * bytes) / 1024)}`,
  )
}

class Round {
  readonly #size: WorkspaceSize
  readonly #root: string
  readonly #stateDir: string
  readonly #gits: readonly Git[]
  #measured: Measured = new Map()
  #id = 0

  constructor(base: string, size: WorkspaceSize) {
    this.#size = size
    this.#root = join(base, 'work')
    this.#stateDir = join(base, 'state')
    this.#makeTree()
    this.#gits = size.gits.map(name => shadowGit(base, this.#root, name))
  }

  async run(firsts: Measured[], steps: Measured[]): Promise<void> {
    const rooms = { root: this.#root, stateDir: this.#stateDir, now: Date.now }
    const blobs = this.#blobs()
    const snapshots = openSnapshots({ ...rooms, blobs })
    const workspace = openWorkspace({ ...rooms, blobs })

    await this.#inTurn(0, [
      ...this.#gits.map(git => () => this.#timed(`${git.name} first`, () => git.capture())),
      async () => {
        const first = ok(await this.#timed('planfold first', () => snapshots.snapshot()))
        if (first.files !== this.#size.files) throw new Error(`planfold captured ${first.files} files`)
      },
    ])
    firsts.push(this.#measured)

    for (let step = 0; step < this.#size.steps; step++) {
      this.#measured = new Map()
      const before = ok(await snapshots.snapshot()).manifest
      const heads = new Map(this.#gits.map(git => [git, git.head()]))
      const paths = this.#change()
      await this.#inTurn(step, [
        async () => {
          const bytes = diskBytes(join(this.#stateDir, 'blobs'))
          const { manifest } = ok(await this.#timed('planfold increment', () => snapshots.snapshot()))
          this.#measured.set('planfold KB', (diskBytes(join(this.#stateDir, 'blobs')) - bytes) / 1024)
          const { changes } = ok(await snapshots.diff(before, manifest))
          if (changes.length !== CHANGED) throw new Error(`${changes.length} changes seen, not ${CHANGED}`)
          const writeSet = changes.map(({ path, after }) => [path, after] as const)
          const back = ok(await this.#timed('planfold restore 50', () => snapshots.rollback(before, writeSet)))
          if (back.changed.length !== CHANGED) throw new Error('not everything was restored')
          const again = back.changed.map(({ path, after }) => [path, after] as const)
          ok(await snapshots.rollback(back.saved, again))
        },
        ...this.#gits.map(git => async () => {
          const bytes = diskBytes(git.folder)
          await this.#timed(`${git.name} increment`, () => git.capture())
          this.#measured.set(`${git.name} KB`, (diskBytes(git.folder) - bytes) / 1024)
          const head = git.head()
          await this.#timed(`${git.name} restore 50`, () => git.restore(heads.get(git)!, paths))
          if (git.changed() !== CHANGED) throw new Error('git has not restored everything')
          git.restore(head, paths)
          await this.#timed(`${git.name} restore 50 that git finds itself`, () =>
            git.restore(heads.get(git)!, ['.'], paths),
          )
          if (git.changed() !== CHANGED) throw new Error('git has not restored everything')
          git.restore(head, paths)
          await this.#timed(`${git.name} restore 50 with a copy of what stood there`, () => {
            git.capture()
            git.restore(heads.get(git)!, paths)
          })
          git.restore(head, paths)
        }),
      ])
      await this.#inTurn(step, [
        ...this.#gits.map(git => () => this.#timed(`${git.name} nothing changed`, () => git.capture())),
        () => this.#timed('planfold nothing changed', () => snapshots.snapshot()),
      ])
      this.#change()
      ok(
        await this.#timed('planfold increment, newly opened', () =>
          openSnapshots({ ...rooms, blobs: this.#blobs() }).snapshot(),
        ),
      )
      const scope = this.#changeFolder(step)
      const captured = ok(await this.#timed('planfold scope of 50', () => workspace.capture(scope)))
      if (captured.files !== CHANGED) throw new Error(`the scope held ${captured.files} files`)
      for (const git of this.#gits) git.capture()
      steps.push(this.#measured)
    }
  }

  /** Another one begins each time. */
  async #inTurn(step: number, acts: readonly (() => Promise<unknown>)[]): Promise<void> {
    for (let at = 0; at < acts.length; at++) await acts[(at + step) % acts.length]!()
  }

  async #timed<T>(what: string, work: () => T | Promise<T>): Promise<T> {
    const began = performance.now()
    const value = await work()
    this.#measured.set(what, performance.now() - began)
    return value
  }

  #blobs(): BlobsFiles {
    const folder = join(this.#stateDir, 'blobs')
    return new BlobsFiles({ folder, now: Date.now, newId: () => `${process.pid}-${++this.#id}` })
  }

  #makeTree(): void {
    const old = Date.now() / 1000 - 3_600
    for (let file = 0; file < this.#size.files; file++) {
      const path = join(this.#root, pathOf(file))
      if (file % IN_FOLDER === 0) mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, this.#contents())
      utimesSync(path, old, old)
    }
  }

  /** Half of it can be compressed, as in source code. */
  #contents(): string {
    const { bytes } = this.#size
    return randomBytes(Math.ceil(bytes / 2))
      .toString('hex')
      .slice(0, bytes)
  }

  /** All over the tree. */
  #change(): readonly string[] {
    const each = this.#size.files / CHANGED
    const paths = Array.from({ length: CHANGED }, (_, at) => pathOf(Math.floor(each * at + Math.random() * each)))
    for (const path of paths) writeFileSync(join(this.#root, path), this.#contents())
    return paths
  }

  #changeFolder(step: number): readonly string[] {
    const from = step * IN_FOLDER
    for (let at = 0; at < CHANGED; at++) writeFileSync(join(this.#root, pathOf(from + at)), this.#contents())
    return [`${dirname(pathOf(from))}/**`]
  }
}

const pathOf = (file: number): string => {
  const folder = Math.floor(file / IN_FOLDER)
  return `part-${Math.floor(folder / 10)}/folder-${folder}/file-${file}.txt`
}

function diskBytes(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    return sum + (entry.isDirectory() ? diskBytes(path) : statSync(path).size)
  }, 0)
}

function ok<T extends { readonly ok: boolean }>(answer: T): Extract<T, { ok: true }> {
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  return answer as Extract<T, { ok: true }>
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const short = (value: number): number => Math.round(value * 10) / 10

if (process.argv[1] !== undefined && /workspace\.(ts|js)$/.test(process.argv[1])) {
  await workspaceBench(process.env.BENCH_LARGE === '1' ? LARGE : USUAL)
}
