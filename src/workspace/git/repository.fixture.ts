// Test support of the git room: real repositories in temporary folders, plain git processes, and a fingerprint of everything that must not
// change.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { plainHint } from '../../domain/hint.ts'
import type { Actor, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { CommitRequest, Git, GitAnswer, GitOperation, PathContent } from './git.ts'
import { openGit } from './open-git.ts'

export const PLAN = '01890000-0000-7000-8000-000000000000' as PlanId
export const OTHER_PLAN = '01890000-0000-7000-8000-000100000000' as PlanId
export const NAME = 'upgrade' as PlanName
export const ACTOR = 'agent:test' as Actor
export const BRANCH = 'refs/heads/plan/upgrade'
export const AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
export const owner = { plan: PLAN, name: NAME } as const
export const task = (name: string): TaskName => name as TaskName

export interface Setup {
  readonly base: string
  readonly root: string
  readonly git: Git
  readonly sh: (...args: string[]) => string
  readonly write: (path: string, text: string | Buffer) => void
  readonly open: (root: string) => Git
}

export const setup = (init: readonly string[] = []): Setup => copied('empty', init)

/** With one commit, and with staged, changed, untracked, ignored and stashed files. */
export function busySetup(init: readonly string[] = []): Setup {
  const made = copied('busy', init)
  // The copies have other inodes than the index.
  made.sh('update-index', '-q', '--refresh')
  return made
}

function copied(kind: Kind, init: readonly string[]): Setup {
  const base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'planfold-git-')))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  fs.cpSync(original(kind, init), base, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  return setupAt(base)
}

function setupAt(base: string): Setup {
  const [root, home] = [join(base, 'work'), join(base, 'home')]
  const environment = { PATH: process.env.PATH, HOME: home }
  const open = (at: string) => openGit({ root: at, scratch: join(base, 'scratch'), environment })
  const write = (path: string, text: string | Buffer) => {
    fs.mkdirSync(dirname(join(root, path)), { recursive: true })
    fs.writeFileSync(join(root, path), text)
  }
  return { base, root, git: open(root), sh: (...args) => shell(root, home, ...args), write, open }
}

type Kind = 'empty' | 'busy'

const originals = new Map<string, string>()

function original(kind: Kind, init: readonly string[]): string {
  const name = [kind, ...init].join(' ')
  const known = originals.get(name)
  if (known !== undefined) return known
  const base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'planfold-git-original-')))
  process.once('exit', () => fs.rmSync(base, { recursive: true, force: true }))
  originals.set(name, base)
  const made = setupAt(base)
  fs.mkdirSync(made.root)
  fs.mkdirSync(join(base, 'home'))
  made.sh('init', '--quiet', '--initial-branch=main', ...init)
  fs.writeFileSync(join(base, 'home', '.gitconfig'), '[user]\n\tname = Ana Ipsum\n\temail = ana@example.com\n')
  if (kind === 'busy') fill(made)
  return base
}

function fill({ sh, write }: Setup): void {
  for (const [path, text] of Object.entries({
    'a.txt': 'a\n',
    'b.txt': 'b\n',
    'c.txt': 'c\n',
    '.gitignore': '*.log\n',
  })) {
    write(path, text)
  }
  sh('add', '.')
  sh('commit', '--quiet', '-m', 'first')
  write('c.txt', 'stashed\n')
  sh('stash', '--quiet')
  write('b.txt', 'staged\n')
  sh('add', 'b.txt')
  write('b.txt', 'staged and changed\n')
  write('new.txt', 'untracked\n')
  write('build.log', 'ignored\n')
}

export function shell(cwd: string, home: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' }
  const who = { GIT_AUTHOR_NAME: 'P', GIT_AUTHOR_EMAIL: 'p@x', GIT_COMMITTER_NAME: 'P', GIT_COMMITTER_EMAIL: 'p@x' }
  // Fixed dates, so that commits are reproducible.
  const when = { GIT_AUTHOR_DATE: '@1700000000 +0000', GIT_COMMITTER_DATE: '@1700000000 +0000' }
  const argv = ['-c', 'protocol.file.allow=always', '-c', 'maintenance.auto=false', ...args]
  const output = execFileSync('git', argv, { cwd, env: { ...env, ...who, ...when }, stdio: ['ignore', 'pipe', 'pipe'] })
  return output.toString('utf8').replace(/\n$/, '')
}

/** The hash of every file of the working tree and of .git, except for objects and a plan's own files. */
export function fingerprint(root: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const visit = (path: Buffer, shown: string): void => {
    if (OURS.test(shown)) return
    const stat = fs.lstatSync(path)
    if (stat.isDirectory()) {
      for (const name of fs.readdirSync(path, { encoding: 'buffer' }) as unknown as Buffer[]) {
        visit(Buffer.concat([path, Buffer.from('/'), name]), `${shown}/${name.toString('latin1')}`)
      }
      return
    }
    const content: string | Buffer = stat.isSymbolicLink()
      ? fs.readlinkSync(path).toString()
      : stat.isFile()
        ? fs.readFileSync(path)
        : ''
    found.set(shown, `${stat.mode.toString(8)} ${createHash('sha256').update(content).digest('hex')}`)
  }
  visit(Buffer.from(root), '')
  return found
}

const OURS = /^\/\.git\/(?:objects|worktrees|(?:logs\/)?refs\/planfold|(?:logs\/)?refs\/heads\/plan)(?:\/|$)/

export function value<T>(answer: GitAnswer<T>): T {
  if (!answer.ok) throw new Error(`${answer.failure.message} ${plainHint(answer.failure.hint ?? '')}`)
  return answer.value
}

export function no(answer: { readonly ok: boolean }): string {
  const found = answer as { ok: false; failure: { message: string; hint?: string } }
  expect(found.ok).toBe(false)
  expect(found.failure.hint).toBeTruthy()
  return `${found.failure.message} ${plainHint(found.failure.hint ?? '')}`
}

export const text = (content: string): PathContent => ({
  from: 'bytes',
  bytes: Buffer.from(content),
  mode: '100644',
})

export function commitOf(
  paths: { readonly [path: string]: PathContent },
  more: Partial<CommitRequest> = {},
): CommitRequest {
  return { ...owner, paths: new Map(Object.entries(paths)), message: 'feat(plan): work', actor: ACTOR, at: AT, ...more }
}

/** Creates the branch and a commit for each text in `work.txt`; returns the recorded operations. */
export async function work(git: Git, ...texts: string[]): Promise<GitOperation[]> {
  const operations = [value(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT })).operation]
  for (const [index, each] of texts.entries()) {
    const made = value(await git.commitPaths(commitOf({ 'work.txt': text(each) }, { at: AT + (index + 1) * 1000 })))
    if (made.status !== 'unchanged') operations.push(made.operation)
  }
  return operations
}
