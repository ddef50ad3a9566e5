// The commits behind the lines of a file at HEAD. Only objects are read, so no filter, textconv or ignore list of the repository applies.

import type { WhyCommit } from '../../domain/views/pages/why-lines.ts'
import type { Blame, BlameRequest, Oid } from './git.ts'
import { oneLine, trailersIn } from './message.ts'
import type { Repository } from './repository.ts'
import { fields } from './run-git.ts'

const NAMED_MAX = 500

/** Null: HEAD has no such file. */
export async function blame(repository: Repository, { path, lines }: BlameRequest): Promise<Blame | null> {
  const head = await repository.commitOf('HEAD')
  const place = `${repository.prefix}${path}`
  if (head === null || /[\n\p{Cs}]/u.test(path)) return null
  const file = await repository.git(['cat-file', 'blob', `${head}:${place}`], { codes: [0, 128] })
  if (file.code !== 0) return null
  const wanted = lines(file.stdout)
  if (wanted.length === 0) return { lines: new Map() }
  const args = ['-c', 'blame.ignoreRevsFile=', 'blame', '--porcelain', '--no-textconv', ...ranges(wanted)]
  const output = (await repository.git([...args, head, '--', place])).stdout.toString('latin1')
  const found = new Map<number, Oid>()
  const cutOff = new Set<Oid>()
  let commit = ''
  for (const line of output.split('\n')) {
    const [, oid, number] = /^([0-9a-f]{40,64}) \d+ (\d+)/.exec(line) ?? []
    if (oid !== undefined && !line.startsWith('\t')) {
      commit = oid
      found.set(Number(number), oid)
    } else if (line === 'boundary' && repository.shallow) cutOff.add(commit)
  }
  const commits = await described(repository, [...new Set(found.values())], cutOff)
  return { lines: new Map([...found].flatMap(([line, oid]) => (commits.has(oid) ? [[line, commits.get(oid)!]] : []))) }
}

async function described(
  repository: Repository,
  commits: readonly Oid[],
  cutOff: ReadonlySet<Oid>,
): Promise<ReadonlyMap<Oid, WhyCommit>> {
  const known = new Map<Oid, WhyCommit>()
  for (let from = 0; from < commits.length; from += NAMED_MAX) {
    const args = ['log', '-z', '--no-walk=unsorted', '--no-patch', '--no-decorate', '--format=%H%x00%an%x00%at%x00%B']
    const flat = fields(await repository.git([...args, ...commits.slice(from, from + NAMED_MAX), '--']))
    for (let at = 0; at + 3 < flat.length; at += 4) {
      const [commit, author, seconds, message] = flat
        .slice(at, at + 4)
        .map(text => Buffer.from(text, 'latin1').toString('utf8'))
      known.set(commit!, {
        id: commit!,
        author: oneLine(author!),
        at: Number(seconds) * 1000,
        subject: oneLine(message!.split('\n')[0]!),
        planfold: trailersIn(message!),
        isCutOff: cutOff.has(commit!),
      })
    }
  }
  return known
}

/** Neighbouring lines as one range, because every range is an argument. */
function ranges(lines: readonly number[]): readonly string[] {
  const merged: [number, number][] = []
  for (const line of lines.toSorted((a, b) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && line <= last[1] + 1) last[1] = line
    else merged.push([line, line])
  }
  // Beyond this the whole file is asked: an argument list has a limit.
  return merged.length > NAMED_MAX ? [] : merged.map(([from, to]) => `-L${from},${to}`)
}
