// `node bench/format`: how long a plan of 5,000 tasks (a YAML document of 2 MB, and its JSON twin) takes to be read, checked and
// analysed. Each is measured in a process of its own, cold, as a person at the command line meets it, and then warm; of
// the rounds the median counts. A benchmark never fails a test.

import { execFileSync } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { PlanDefinition } from '../src/domain/plan.ts'
import { parsePlan } from '../src/format/plan/parse.ts'
import { printJson, printYaml } from '../src/format/plan/print.ts'
import { analyzed } from '../src/operations/analyze-plan.ts'

const TASKS = Number(process.env.BENCH_TASKS ?? 5_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)

type Format = 'yaml' | 'json'
interface Measured {
  readonly bytes: number
  readonly parseMs: number
  readonly analyzeMs: number
  /** What the process itself used; on a busy machine the fairer number. */
  readonly cpuMs: number
}

const [, , asked] = process.argv
if (asked === 'yaml' || asked === 'json') console.log(JSON.stringify([measure(asked), measure(asked), measure(asked)]))
else report()

function report(): void {
  console.log(`node ${process.version}, ${TASKS} tasks, ${ROUNDS} rounds, medians, in milliseconds`)
  const rows = (['yaml', 'json'] as const).map(format => {
    const runs = Array.from({ length: ROUNDS }, () => inProcess(format))
    const cold = runs.map(([first]) => first!)
    const warm = runs.map(run => run.at(-1)!)
    return {
      format,
      MB: (cold[0]!.bytes / 1e6).toFixed(2),
      'cold: read': middle(cold.map(({ parseMs }) => parseMs)),
      'cold: check and analyse': middle(cold.map(({ analyzeMs }) => analyzeMs)),
      'cold: all': middle(cold.map(({ parseMs, analyzeMs }) => parseMs + analyzeMs)),
      'cold: CPU': middle(cold.map(({ cpuMs }) => cpuMs)),
      'warm: all': middle(warm.map(({ parseMs, analyzeMs }) => parseMs + analyzeMs)),
      goal: format === 'yaml' ? 4_000 : 1_000,
    }
  })
  console.table(rows)
}

function inProcess(format: Format): readonly Measured[] {
  const program = fileURLToPath(import.meta.url)
  const out = execFileSync(process.execPath, [...process.execArgv, program, format], { encoding: 'utf8' })
  return JSON.parse(out.trim().split('\n').at(-1)!) as readonly Measured[]
}

function measure(format: Format): Measured {
  const text = written(format)
  const cpu = process.cpuUsage()
  const began = performance.now()
  // As `planfold show --analysis` does: the graph is checked with everything else.
  const parsed = parsePlan(text)
  const read = performance.now()
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics[0]))
  const { tasks } = analyzed(parsed.definition, { now: 0 })
  const end = performance.now()
  const { user, system } = process.cpuUsage(cpu)
  if (tasks !== TASKS) throw new Error(`${tasks} tasks`)
  return { bytes: Buffer.byteLength(text), parseMs: read - began, analyzeMs: end - read, cpuMs: (user + system) / 1000 }
}

/** About 400 bytes a task: needs, a command, a scope, outputs that others read, a criterion. */
function written(format: Format): string {
  const tasks = Array.from({ length: TASKS }, (_, at) => ({
    id: `task-${at}`,
    title: `Change part ${at} so that it fits again`,
    kind: at % 3 === 0 ? 'validate' : 'implement',
    needs: [...(at % 50 === 0 ? [] : [`task-${at - 1}`]), ...(at < 100 ? [] : [`task-${at - 100}`])],
    action: { type: 'run', command: { argv: ['node', 'tool.js', '--part', String(at)] } },
    ...(at % 50 === 0 ? {} : { inputs: { before: `\${{ tasks['task-${at - 1}'].outputs.report.total }}` } }),
    outputs: { report: { from: 'file', file: `parts/${at}/report.json` } },
    write: [`parts/${at}/**`],
    network: [],
    accept: [{ type: 'expect', expression: `outputs.report.total >= ${at % 7}` }],
    estimateMs: 120_000,
  }))
  const definition = { name: 'big', title: 'Every part of the machine', tasks } as unknown as PlanDefinition
  return format === 'yaml' ? printYaml(definition) : printJson(definition)
}

function middle(times: readonly number[]): number {
  return Math.round([...times].sort((a, b) => a - b)[Math.floor(times.length / 2)]!)
}
