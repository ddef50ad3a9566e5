// Questions to history: the commits a bisection searches, and how much two commits differ.

import { refuse } from '../../safety/refused.ts'
import { pathText } from '../path-text.ts'
import type { CommitLine, FileStat } from './git.ts'
import { oneLine } from './message.ts'
import type { Repository } from './repository.ts'
import { fields } from './run-git.ts'

const COMMITS_MAX = 100_000

/**
 * The commits after `good` up to and with `bad`, oldest first, along the first parents: on that line one commit follows
 * the other, so everything before the culprit is good and everything after it is bad. A merge stands for its side branch.
 */
export async function commitsBetween(
  repository: Repository,
  request: { readonly good: string; readonly bad: string },
): Promise<readonly CommitLine[]> {
  const [good, bad] = [await repository.demandCommit(request.good), await repository.demandCommit(request.bad)]
  if (!(await repository.isAncestor(good, bad))) {
    const hint = repository.shallow
      ? 'The history is cut off here: git fetch --unshallow.'
      : `Take an older good commit: git merge-base ${good.slice(0, 12)} ${bad.slice(0, 12)}.`
    refuse('logic', 'The good commit is no ancestor of the bad one.', hint)
  }
  const args = ['log', '-z', '--first-parent', '--reverse', '--no-patch', '--no-decorate', `--max-count=${COMMITS_MAX}`]
  const flat = fields(await repository.git([...args, '--format=%H%x00%s', bad, `^${good}`, '--']))
  const found: CommitLine[] = []
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const subject = oneLine(Buffer.from(flat[at + 1]!, 'latin1').toString('utf8'))
    found.push({ commit: flat[at]!, subject })
  }
  return found
}

export async function diffstat(
  repository: Repository,
  request: { readonly from: string; readonly to: string },
): Promise<readonly FileStat[]> {
  const [from, to] = [await repository.demandCommit(request.from), await repository.demandCommit(request.to)]
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv']
  return fields(await repository.git([...args, from, to, '--'])).map(entry => {
    const [added = '', removed = '', ...path] = entry.split('\t')
    const count = (text: string) => (text === '-' ? null : Number(text))
    return { path: pathText(path.join('\t')), added: count(added), removed: count(removed) }
  })
}
