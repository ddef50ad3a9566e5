// How good the drafts of the embedded planner are: whole drafts for goals of real commits with known answers.
// `npm run bench:planner -- <git-dir>… [cases.jsonl] [--goals 25] [--test-command 'X'] [--misses]`, for any repository. Without cases they are
// mined from the history of each repository (`planner-cases.ts`); each line of a cases file is JSON with `parent`, `goal` and `files`.
// Reads the repository at the parent commit; nothing is checked out.
// Needs the extras: planners

import { basename, dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { heuristicPlanner } from '../src/extras/planners/heuristic-planner.ts'
import type { PlanProposal } from '../src/extras/planners/planner.ts'
import { inScope } from '../src/safety/scope.ts'
import { bm25, type Case, mineCases, readCases, viewOf } from './planner-cases.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    goals: { type: 'string', default: '25' },
    'test-command': { type: 'string' },
    misses: { type: 'boolean', default: false },
  },
})
const casesFile = positionals.find(path => path.endsWith('.jsonl'))
const gitDirs = positionals.filter(path => path !== casesFile)
if (gitDirs.length === 0) {
  console.error("usage: npm run bench:planner -- <git-dir>… [cases.jsonl] [--goals 25] [--test-command 'X'] [--misses]")
  process.exit(2)
}

interface Judged {
  readonly first: boolean
  readonly five: boolean
  readonly bm25First: boolean
  readonly bm25Five: boolean
  readonly allWritable: boolean
  readonly testsWritable: boolean | null
  /** Share of the tracked files that some task may write. */
  readonly width: number
  readonly entries: number
  readonly testCommand: string
  /** Null where the commit does not tell its type. */
  readonly kindRight: boolean | null
  readonly asked: boolean
  readonly irreversible: number
  readonly ms: number
}

/** Which kinds of goals fit the type that the author gave the commit. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  fix: ['bug', 'failing-test', 'failing-command', 'flaky-test', 'security'],
  feat: ['feature', 'endpoint'],
  perf: ['performance'],
  refactor: ['refactor', 'rename'],
}

async function judge(dir: string, { parent, goal, files, tests, type }: Case): Promise<Judged> {
  const view = viewOf(dir, parent)
  const began = performance.now()
  const proposal = await heuristicPlanner().propose({ goal, repository: view })
  const ms = performance.now() - began
  const ranked = proposal.analysis.files.map(({ path }) => path)
  const plain = await bm25(view, goal)
  const scope = scopeOf(proposal)
  const tracked = (await view.files()).map(({ path }) => path)
  const isWritable = (path: string): boolean => inScope(scope, path)
  const isRight = (path: string): boolean => files.includes(path)
  const judged: Judged = {
    first: ranked.slice(0, 1).some(isRight),
    five: ranked.slice(0, 5).some(isRight),
    bm25First: plain.slice(0, 1).some(isRight),
    bm25Five: plain.slice(0, 5).some(isRight),
    allWritable: files.every(isWritable),
    testsWritable: tests === undefined ? null : tests.every(isWritable),
    width: tracked.filter(isWritable).length / Math.max(1, tracked.length),
    entries: Math.max(0, ...proposal.definition.tasks.map(({ write = [] }) => write.length)),
    testCommand: proposal.analysis.commands.test?.run.join(' ') ?? 'none',
    kindRight: type === undefined ? null : (KINDS[type]?.includes(proposal.kind) ?? false),
    asked: proposal.definition.tasks.some(({ action }) => action.type === 'gate' && action.gate === 'question'),
    irreversible: proposal.irreversible.length,
    ms,
  }
  if (options.misses) tellMisses(judged, proposal, scope, { parent, goal, files, ...(type ? { type } : {}) }, tracked)
  return judged
}

/** What the tasks that change something may write, together. */
const scopeOf = ({ definition }: PlanProposal): readonly string[] => [
  ...new Set(definition.tasks.flatMap(({ write = [] }) => write)),
]

function tellMisses(
  { five, allWritable, kindRight, irreversible, width }: Judged,
  { analysis, kind, irreversible: steps }: PlanProposal,
  scope: readonly string[],
  { parent, goal, files, type }: Case,
  tracked: readonly string[],
): void {
  const missed = [
    five ? '' : 'place',
    allWritable ? '' : 'scope',
    kindRight === false ? 'kind' : '',
    irreversible > 0 ? `invented ${steps.map(({ task }) => task).join(', ')}` : '',
    width > WIDE ? 'wide' : '',
  ].filter(word => word !== '')
  if (missed.length === 0) return
  const state = (path: string): string => `${path}${tracked.includes(path) ? '' : ' (new)'}`
  console.log(`missed (${missed.join(', ')}): ${goal}  [${parent.slice(0, 10)}, ${type ?? 'no type'} → ${kind}]`)
  console.log(`  right: ${files.map(state).join(', ')}`)
  console.log(`  scope, ${Math.round(width * 100)} %: ${scope.join(' ')}`)
  for (const { path, score, reason } of analysis.files.slice(0, 6)) console.log(`  ${score} ${path}: ${reason}`)
}

const WIDE = 0.2

function tell(name: string, all: readonly Judged[]): void {
  const share = (of: (one: Judged) => boolean | null, among = all): string => {
    const told = among.filter(one => of(one) !== null)
    return told.length === 0 ? '–' : `${Math.round((100 * told.filter(one => of(one)).length) / told.length)} %`
  }
  const at = (of: (one: Judged) => number, part: number): number => {
    const sorted = all.map(of).sort((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  }
  const width = (part: number): string => `${(at(one => one.width, part) * 100).toFixed(1)} %`
  const expected = options['test-command']
  const commands = new Map<string, number>()
  for (const { testCommand } of all) commands.set(testCommand, (commands.get(testCommand) ?? 0) + 1)
  const listed = [...commands].sort((a, b) => b[1] - a[1]).map(([command, count]) => `${command} (${count})`)
  const typed = all.filter(({ kindRight }) => kindRight !== null).length
  console.log(
    [
      `${name}: ${all.length} goals`,
      `first ${share(one => one.first)}, five ${share(one => one.five)} (BM25 ${share(one => one.bm25First)}, ${share(one => one.bm25Five)})`,
      `all true files writable ${share(one => one.allWritable)}, tests too ${share(one => one.testsWritable && one.allWritable)}`,
      `width median ${width(0.5)}, p90 ${width(0.9)}, entries ${at(one => one.entries, 0.5)}, most ${at(one => one.entries, 1)}`,
      `kind right ${share(one => one.kindRight)} of ${typed}`,
      `asked ${share(one => one.asked)}`,
      `irreversible steps ${all.reduce((sum, one) => sum + one.irreversible, 0)}`,
      `${Math.round(at(one => one.ms, 0.5))} ms, slowest ${Math.round(at(one => one.ms, 1))} ms`,
      expected === undefined ? '' : `test command right ${share(one => one.testCommand === expected)}`,
      name === TOTAL ? '' : `test command: ${listed.join(', ')}`,
    ]
      .filter(part => part !== '')
      .join('; '),
  )
}

const TOTAL = 'all'
const everything: Judged[] = []
for (const dir of gitDirs) {
  const cases = casesFile === undefined ? mineCases(dir, Number(options.goals)) : readCases(casesFile)
  const judged: Judged[] = []
  for (const one of cases) judged.push(await judge(dir, one))
  tell(/^(repo|\.git|\.)$/.test(basename(dir)) ? basename(dirname(dir)) : basename(dir), judged)
  everything.push(...judged)
}
if (gitDirs.length > 1) tell(TOTAL, everything)
