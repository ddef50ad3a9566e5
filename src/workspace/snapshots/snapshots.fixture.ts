// Test support for snapshots: arbitrary trees, a workspace with a real content store, and an independent check by the shell's find and
// sha256sum.

import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { onTestFinished } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { BlobsFiles, type BlobsOptions } from '../../stores/blobs/blobs.ts'
import { clearTree, makeTree, type Node, removeTree, type Tree } from '../tree.fixture.ts'
import type { Change, Choice, TreeEntry } from '../workspace.ts'
import { openSnapshots, type SnapshotsOptions } from './snapshots.ts'

// A soak test gives each part its own seed, so that a failure can be reproduced alone.
if (process.env.PLANFOLD_SEED !== undefined) fc.configureGlobal({ seed: Number(process.env.PLANFOLD_SEED) })

// Spaces, a line feed, a leading dash, NFC and NFD, invalid UTF-8, half a character, the longest name.
export const NAMES = [
  ...['a', 'b', 'c d', '-x', '--', 'line\nfeed', '\xc3\xa9', 'e\xcc\x81', '\xff\xfe', '\xe2\x82', 'y'.repeat(255)],
  ...['z*', '[id]', '__proto__', 'constructor', '\\', '"', '\xf0\x9f\x98\x80', '\x01'],
]
const leaf: fc.Arbitrary<Node> = fc.oneof(
  fc.record({
    type: fc.constant('file' as const),
    content: fc.oneof(fc.string({ maxLength: 8 }), fc.constant(''), fc.constant('shared\n'.repeat(50))),
    mode: fc.constantFrom(0o644, 0o755, 0o600, 0o444, 0o4755),
  }),
  fc.record({ type: fc.constant('link' as const), target: fc.constantFrom('a', '../x', '/etc', '\xff', 'no/where') }),
)
const node: fc.Arbitrary<Node> = fc.letrec<{ node: Node }>(tie => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.record({
      type: fc.constant('dir' as const),
      mode: fc.constantFrom(0o755, 0o555, 0o700),
      children: fc
        .array(fc.tuple(fc.constantFrom(...NAMES), tie('node')), { maxLength: 4 })
        .map(pairs => new Map(pairs)),
    }),
  ),
})).node
export const anyTree: fc.Arbitrary<Tree> = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), node), { maxLength: 6 })
  .map(pairs => new Map(pairs))

/** By shell tools: names, types, modes, link targets and contents. */
export function shellHash(root: string): string {
  const script = `{ find . -mindepth 1 -printf '%P\\0%y\\0%m\\0%l\\0\\n' | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum --; } | sha256sum`
  const done = spawnSync('bash', ['-o', 'pipefail', '-c', script], { cwd: root, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`the tree hasher failed: ${done.stderr}`)
  return done.stdout.slice(0, 64)
}

/** A readable list of the files, for comparison. */
export function shellList(root: string): string {
  const script = `find . -mindepth 1 -printf '%P %y %m %l\\n' -type f -exec sha256sum -- {} + | LC_ALL=C sort`
  const done = spawnSync('sh', ['-c', script], { cwd: root, encoding: 'latin1' })
  if (done.status !== 0 || done.stderr !== '') throw new Error(`the tree hasher failed: ${done.stderr}`)
  return done.stdout
}

export interface Ground {
  readonly base: string
  readonly root: string
  readonly stateDir: string
}

const MEMORY = fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export function makeGround(tree: Tree = new Map()): Ground {
  const base = fs.mkdtempSync(join(MEMORY, 'snapshots-'))
  onTestFinished(() => removeTree(base))
  const root = join(base, 'work')
  fs.mkdirSync(root)
  makeTree(root, tree)
  return { base, root, stateDir: join(base, 'state') }
}

let number = 0

export function open(
  { root, stateDir }: Ground,
  options: Partial<Pick<SnapshotsOptions, 'now' | 'fileMaxBytes' | 'pauseMs' | 'cache' | 'blobs'> & BlobsOptions> = {},
) {
  const now = options.now ?? Date.now
  const blobs = new BlobsFiles({
    folder: join(stateDir, 'blobs'),
    now,
    newId: () => `${process.pid}-${++number}`,
    failpoint: options.failpoint,
    quotaBytes: options.quotaBytes,
  })
  const snapshots = openSnapshots({ root, stateDir, blobs, pauseMs: 0, ...options, now })
  return {
    blobs,
    snapshots,
    async snapshot(...scopes: string[]) {
      return must(await snapshots.snapshot({ scopes }))
    },
    async diff(a: Sha256, b: Sha256 | 'now') {
      return must(await snapshots.diff(a, b))
    },
    async rollback(target: Sha256, writeSet: readonly Change[], choices: readonly (readonly [string, Choice])[] = []) {
      return must(await snapshots.rollback(target, written(writeSet), { choices }))
    },
  }
}

export const written = (changes: readonly Change[]): (readonly [string, TreeEntry | null])[] =>
  changes.map(({ path, after }) => [path, after] as const)

export function must<T extends { readonly ok: boolean }>(answer: T): Extract<T, { ok: true }> {
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  return answer as Extract<T, { ok: true }>
}

export function replaceTree(root: string, tree: Tree): void {
  clearTree(root)
  makeTree(root, tree)
}
