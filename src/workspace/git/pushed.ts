// Whether others may already have a commit. Remote-tracking branches are asked, and what the journal says was pushed, and
// remotes that are folders of this machine. Remotes beyond it are not asked: that would need a network and a person's keys.

import { isPushed } from './describe.ts'
import type { GitOperation, Oid } from './git.ts'
import { isOid, type Repository } from './repository.ts'

const ASK_TIMEOUT_MS = 10_000

/** Why we believe that somebody has one of these commits; null when nobody is known to. Oldest first. */
export async function whoHas(
  repository: Repository,
  ref: string,
  commits: readonly Oid[],
  operations: readonly GitOperation[],
): Promise<string | null> {
  const [oldest] = commits
  if (oldest === undefined) return null
  const recorded = operations.find(each => each.type === 'branch.pushed' && commits.includes(each.commit))
  if (recorded?.type === 'branch.pushed') return `it was pushed to ${recorded.remote}`
  // Whoever has one of them has the oldest.
  if (await isPushed(repository, oldest)) return 'a remote-tracking branch holds it'
  for (const { name, url } of repository.settings.remotes) {
    if (!isFolder(url)) continue
    const theirs = await advertised(repository, url)
    const same = theirs.find(([, name]) => name === ref)
    if (same !== undefined && (await repository.commitOf(same[0])) === null) {
      return `${name} has this branch, with commits we have not seen`
    }
    if (await isHeldBy(repository, oldest, theirs)) return `${name} has it`
  }
  return null
}

/** A tag that a remote on this machine has. */
export async function whoHasRef(repository: Repository, ref: string): Promise<string | null> {
  for (const { name, url } of repository.settings.remotes) {
    if (!isFolder(url)) continue
    if ((await advertised(repository, url)).some(([, theirs]) => theirs === ref)) return `${name} has it`
  }
  return null
}

async function isHeldBy(
  repository: Repository,
  commit: Oid,
  theirs: readonly (readonly [Oid, string])[],
): Promise<boolean> {
  if (theirs.length === 0) return false
  const stdin = [commit, ...theirs.map(([oid]) => `^${oid}`)].map(row => `${row}\n`).join('')
  const args = ['rev-list', '--max-count=1', '--ignore-missing', '--stdin']
  return (await repository.line(args, { stdin })) === ''
}

const isFolder = (url: string): boolean => url.startsWith('/') || url.startsWith('file:///')

async function advertised(repository: Repository, url: string): Promise<readonly (readonly [Oid, string])[]> {
  // The address and not the name of the remote: a remote may name another program to answer (`uploadpack`, `vcs`).
  const args = ['ls-remote', '--quiet', '--refs', '--upload-pack=git-upload-pack', '--', url]
  const output = await repository.git(args, {
    env: { GIT_ALLOW_PROTOCOL: 'file' },
    timeoutMs: ASK_TIMEOUT_MS,
    outputMaxBytes: 8 * 1024 * 1024,
    cutOff: 'keep',
    codes: [0, 1, 2, 128],
  })
  return output.stdout
    .toString('utf8')
    .split('\n')
    .map(row => row.split('\t') as [string, string])
    .filter(([oid, ref]) => isOid(oid) && ref !== undefined)
}
