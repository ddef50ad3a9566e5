// Planfold's refs, and the only two ways a ref changes: created, or moved from the value that was read. Both are one compare-and-swap of
// git, so the second of two writers is refused.
//
//   refs/heads/plan/<plan>                    the branch of a plan
//   refs/heads/plan/<plan>+<task>             the branch of one task; `+` is in no name and replaces `/`
//   refs/planfold/made/<plan id>/<branch>     where we created a branch; marks it as ours, even after a crash
//   refs/planfold/made/<plan id>/tags/<tag>   the same for a tag
//   refs/planfold/backup/<plan>/<time>/…      what a rollback or removal took off its branch

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isPlanId, isPlanName, isTaskName, type Millis, type PlanId } from '../../domain/id.ts'
import { ignoring, refuse } from '../../safety/safety-refusal.ts'
import type { Oid, Owner } from './git.ts'
import { demandOid, type Repository, zeroOid } from './repository.ts'
import { fields, type GitOutput } from './run-git.ts'

export function branchOf(owner: Owner): string {
  const { plan, name, task } = owner
  if (!isPlanId(plan)) refuse('logic', 'the id of the plan is none', 'pass the UUID of the plan')
  const fits = isPlanName(name) && (task === undefined || isTaskName(task))
  const branch = `plan/${name}${task === undefined ? '' : `+${task.replaceAll('/', '+')}`}`
  if (!fits || !isRef(`refs/heads/${branch}`)) {
    const hint = 'git takes no name that ends with .lock or a dot; rename the plan or task'
    refuse('logic', `${JSON.stringify(branch.slice(0, 200))} cannot be the name of a branch`, hint)
  }
  return branch
}

/** The rules of `git check-ref-format`, for full names. */
export function isRef(ref: string): boolean {
  if (!ref.startsWith('refs/') || ref.length > 500 || ref.endsWith('/') || ref.endsWith('.')) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused here.
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\p{Cs}/u.test(ref)) return false
  return ref
    .split('/')
    .every(part => part !== '' && !part.startsWith('.') && !part.startsWith('-') && !part.endsWith('.lock'))
}

export const markOf = (plan: PlanId, ref: string): string => madeRef(plan, ref.replace(/^refs\/(?:heads\/)?/, ''))

export const madeRef = (plan: PlanId, branch: string): string => `refs/planfold/made/${plan}/${branch}`

export function backupRef(plan: string, at: Millis, ref: string): string {
  const time = new Date(at).toISOString().replace(/[-:.]/g, '')
  return `refs/planfold/backup/${plan}/${time}/${ref.replace(/^refs\//, '')}`
}

export async function refTarget(repository: Repository, ref: string): Promise<Oid | null> {
  return (await tipsOf(repository, [ref]))[0] ?? null
}

export async function tipsOf(repository: Repository, refs: readonly string[]): Promise<readonly (Oid | null)[]> {
  for (const ref of refs) demandRef(ref)
  const format = '%(refname)%00%(objectname)%00%(symref)%00'
  const found = rows(await repository.git(['for-each-ref', `--format=${format}`, '--', ...refs]), 3)
  return refs.map(ref => {
    const [, oid, symref] = found.find(([name]) => name === ref) ?? []
    if (symref !== undefined && symref !== '') {
      const hint = `look at it: git symbolic-ref ${ref}; delete it if it is not yours: git symbolic-ref -d ${ref}`
      refuse('policy', `${ref} only points to another branch, which is not ours to move`, hint)
    }
    return oid ?? null
  })
}

/** Rows of output with `%00` after every field; git ends each row with a line feed. */
function rows(output: GitOutput, width: number): readonly (readonly string[])[] {
  const found: string[][] = []
  const flat = fields(output)
  for (let at = 0; at + width <= flat.length; at += width) {
    const row = flat.slice(at, at + width)
    if (at > 0) row[0] = row[0]!.replace(/^\n/, '')
    found.push(row)
  }
  return found
}

interface Swap {
  readonly ref: string
  /** Null: the ref must not exist. */
  readonly before: Oid | null
  /** Null: delete the ref. */
  readonly after: Oid | null
  readonly why: string
}

/** Changes a ref if it still has the value that was read; otherwise refuses. */
export async function swapRef(repository: Repository, swap: Swap): Promise<void> {
  const { ref, before, after, why } = swap
  demandRef(ref)
  const zero = zeroOid(demandOid(before ?? after ?? ''))
  const how = ['update-ref', '--no-deref', '-m', `planfold: ${why}`]
  const args =
    after === null
      ? [...how, '-d', ref, demandOid(before ?? '')]
      : [...how, ref, demandOid(after), before === null ? zero : demandOid(before)]
  const output = await repository.git(args, { codes: [0, 1, 128] })
  if (output.code === 0) return
  const now = await refTarget(repository, ref)
  // The change was made by a git that was killed afterwards, or by a concurrent process of ours.
  if (now === after) return
  if (now !== before) {
    const hint = `look at it with git log ${ref}, then try again: it starts from what stands there now`
    refuse('transient', `${ref} was changed by somebody else in the meantime`, hint)
  }
  const stderr = output.stderr.trim().slice(-500)
  const hint = /\.lock/.test(stderr) ? 'if no other git runs, remove the lock file it names' : 'look at the repository'
  refuse(/\.lock/.test(stderr) ? 'transient' : 'logic', `git did not change ${ref}: ${stderr}`, hint)
}

/** The working trees that have a branch checked out, or in a rebase or bisect. */
export async function checkedOutIn(repository: Repository, ref: string): Promise<readonly string[]> {
  const places: string[] = []
  for (const { path, gitDir } of await workTrees(repository)) {
    const texts = await Promise.all(
      ['HEAD', 'rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'].map(
        async name => await ignoring(['ENOENT', 'ENOTDIR'], () => readFile(join(gitDir, name), 'utf8')),
      ),
    )
    const [head, ...others] = texts.map(text => text?.trim() ?? '')
    const short = ref.replace('refs/heads/', '')
    if (head === `ref: ${ref}` || others.some(text => text === ref || text === short)) places.push(path)
  }
  return places
}

export async function workTrees(
  repository: Repository,
): Promise<readonly { readonly path: string; readonly gitDir: string }[]> {
  const { commonDir } = repository
  const found = [{ path: commonDir.replace(/\/\.git$/, ''), gitDir: commonDir }]
  const names = (await ignoring(['ENOENT'], () => readdir(join(commonDir, 'worktrees')))) ?? []
  for (const name of names) {
    const gitDir = join(commonDir, 'worktrees', name)
    const text = await ignoring(['ENOENT', 'ENOTDIR'], () => readFile(join(gitDir, 'gitdir'), 'utf8'))
    if (text !== null) found.push({ path: text.replace(/\n$/, '').replace(/\/\.git$/, ''), gitDir })
  }
  return found
}

export async function gitDirAt(repository: Repository, path: string): Promise<string> {
  const known = (await workTrees(repository)).find(each => each.path === path)
  return known?.gitDir ?? (await repository.line(['rev-parse', '--absolute-git-dir'], { cwd: path }))
}

function demandRef(ref: string): void {
  if (!isRef(ref)) refuse('logic', `${JSON.stringify(ref.slice(0, 200))} is not a full ref name`, 'check the record')
}
