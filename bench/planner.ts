// How well the embedded planner finds the place: goals of real commits with known answers, mined from the history of a public
// repository. `npm run bench:planner -- <git-dir> <cases>`; each line of the cases is JSON with `parent`, `goal` and `files`. Reads
// the bare repository at the parent commit; nothing is checked out.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { findToolchain } from '../src/planners/commands.ts'
import { readGoal } from '../src/planners/goal.ts'
import type { RepositoryView } from '../src/planners/planner.ts'
import { FILE_MAX_BYTES, rankFiles } from '../src/planners/ranking/rank-files.ts'

interface Case {
  readonly parent: string
  readonly goal: string
  readonly files: readonly string[]
}

const [gitDir, casesFile, mode] = process.argv.slice(2)
if (gitDir === undefined || casesFile === undefined) {
  console.error('usage: npm run bench:planner -- <git-dir> <cases.jsonl> [--misses]')
  process.exit(2)
}

const cases = readFileSync(casesFile, 'utf8')
  .split('\n')
  .filter(line => line !== '')
  .map(line => JSON.parse(line) as Case)
const times: number[] = []
const commands = new Map<string, number>()
let [first, five] = [0, 0]
for (const { parent, goal, files } of cases) {
  const began = performance.now()
  const view = viewOf(gitDir, parent)
  const ranking = await rankFiles(view, readGoal(goal))
  const { commands: found } = await findToolchain(view)
  times.push(performance.now() - began)
  const test = found.test?.run.join(' ') ?? 'none'
  commands.set(test, (commands.get(test) ?? 0) + 1)
  const place = ranking.files.findIndex(({ path }) => files.includes(path))
  if (place === 0) first++
  if (place >= 0 && place < 5) five++
  else if (mode === '--misses') {
    console.log(`missed (${place < 0 ? 'not listed' : `place ${place + 1}`}): ${goal}`)
    console.log(`  right: ${files.join(', ')}`)
    for (const { path, score, reason } of ranking.files.slice(0, 3)) console.log(`  ${score} ${path}: ${reason}`)
  }
}
times.sort((a, b) => a - b)
const share = (count: number): string => `${count} (${Math.round((100 * count) / cases.length)} %)`
console.log(
  `${cases.length} goals: right file first ${share(first)}, among the first five ${share(five)}; median ${Math.round(times[times.length >> 1] ?? 0)} ms, slowest ${Math.round(times.at(-1) ?? 0)} ms`,
)
console.log(`test command: ${[...commands].map(([command, count]) => `${command} (${count})`).join(', ')}`)

/** A commit of a repository. Programs are taken to be installed: only the choice of the command is judged here. */
function viewOf(dir: string, commit: string): RepositoryView {
  const git = (args: readonly string[], input?: string): Buffer =>
    execFileSync('git', ['--git-dir', dir, ...args], { maxBuffer: 1 << 30, ...(input === undefined ? {} : { input }) })
  const entries = git(['ls-tree', '-r', '-l', '-z', commit])
    .toString()
    .split('\0')
    .filter(line => line !== '')
    .map(line => {
      const [about, path] = line.split('\t') as [string, string]
      const [, type, id, bytes] = about.split(/\s+/) as [string, string, string, string]
      return { path, type, id, bytes: Number(bytes) }
    })
    .filter(({ type }) => type === 'blob')
  const ids = new Map(entries.map(({ path, id }) => [path, id]))
  return {
    files: async () => entries,
    read: async paths => {
      const output = git(['cat-file', '--batch'], paths.map(path => `${ids.get(path)}\n`).join(''))
      let at = 0
      return paths.map(() => {
        const end = output.indexOf(10, at)
        const size = Number(output.subarray(at, end).toString().split(' ')[2])
        at = end + 1 + size + 1
        return output.subarray(end + 1, end + 1 + Math.min(size, FILE_MAX_BYTES)).toString()
      })
    },
    history: async () =>
      git(['log', '--no-merges', '-n', '2000', '--format=%x00%B%x01', '--name-only', commit])
        .toString()
        .split('\0')
        .slice(1)
        .map(block => {
          const [message = '', files = ''] = block.split('\x01')
          return { message: message.slice(0, 1_000), files: files.split('\n').filter(name => name !== '') }
        }),
    findProgram: async name => name,
    state: async () => null,
  }
}
