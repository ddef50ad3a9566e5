import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import type { Action, PlanDefinition } from '../../domain/plan.ts'
import { expandTasks } from '../../domain/plan-rules/expand.ts'
import { TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { planDefinition } from '../../format/plan/definition.arbitrary.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { RECOVERY_PLAN, ROLLBACK_PLAN } from '../../format/plan/plan-texts.fixture.ts'
import { pictureOf } from '../../format/plan/scene.ts'
import { decision, external, gate, plan, task } from '../../testing/plan.ts'
import { dot } from './dot.ts'
import { markdown } from './markdown.ts'
import { mermaid } from './mermaid.ts'
import { readChart } from './mermaid-grammar.fixture.ts'
import { svg } from './svg.ts'

const PLAN = plan(
  'release',
  task('build', {
    title: 'Build it',
    action: { type: 'subplan', tasks: [task('lint'), task('test', { needs: ['lint'] })] },
  }),
  gate('review', { needs: ['build'], on: { rejected: 'build' } }),
  decision('which', { needs: ['review'], on: { yes: 'ship', no: 'end' } }),
  task('ship', { milestone: 'out', accept: [{ type: 'check', command: { script: 'curl -f localhost' } }] }),
  external('end', { milestone: 'out', description: 'Tell everybody.\n# loudly' }),
  { title: 'Release', goal: 'It is out', done: [{ type: 'prose', text: 'People use it' }] },
)
const STATUSES = new Map<string, TaskStatus>([
  ['build', 'completed'],
  ['build/lint', 'completed'],
  ['build/test', 'completed'],
  ['review', 'waiting'],
  ['which', 'pending'],
])
const HOSTILE = [
  '"; classDef x fill:red; click t1 "javascript:alert(1)"',
  '<img src=x onerror=alert(1)>',
  'end',
  'a"] --> b["c',
  '%%{init: {"theme":"dark"}}%%',
  '`*markdown*`',
  '#quot; #35; &amp; \\n \\N \\G',
  '数据库 🙂 ünï',
  'line\nbreak\u2028\u202e‮x',
  '}{)(][|',
]

describe('Mermaid', () => {
  it('has diamonds, frames, labelled outcomes and colours', () => {
    expect(mermaid(PLAN, STATUSES)).toBe(`flowchart TD
  subgraph t1["build<br/>Build it"]
    t2["build/lint"]:::completed
    t3["build/test"]:::completed
  end
  t4{"review"}:::waiting
  t5{"which"}:::pending
  t6["ship"]
  t7(["end"])
  t2 --> t3
  t1 --> t4
  t4 -.->|"rejected"| t2
  t4 --> t5
  t5 -.->|"yes"| t6
  t5 -.->|"no"| t7
  class t1 completed
  classDef pending fill:#ffffff,stroke:#999999
  classDef waiting fill:#fcf3cf,stroke:#bb8800
  classDef completed fill:#d4f4dd,stroke:#22aa77`)
  })

  it('never lets the text of a plan become a word of Mermaid or HTML', () => {
    for (const title of HOSTILE) {
      const chart = readChart(mermaid(plan('p', task('end', { title, on: { [title]: 'b' } }), task('b'))))
      expect(chart.nodes.size, title).toBe(2)
      const [line] = title.split('\n')
      expect(chart.nodes.get('t1')?.label, title).toContain(line!.slice(0, 4))
    }
  })
})

describe('Graphviz', () => {
  it('has diamonds, clusters, labelled outcomes and colours', () => {
    expect(dot(PLAN, STATUSES).split('\n')).toEqual(
      expect.arrayContaining([
        'digraph "release" {',
        '  subgraph "cluster_1" {',
        '    label="build"',
        '    "build" [label="build\\nBuild it", peripheries=2, fillcolor="#d4f4dd", color="#22aa77"]',
        '  "review" [label="review", shape=diamond, style=filled, fillcolor="#fcf3cf", color="#bb8800"]',
        '  "review" -> "build/lint" [style=dashed, label="rejected"]',
      ]),
    )
  })

  it('quotes whatever a plan says', () => {
    for (const title of HOSTILE) expect(quotesOf(dot(plan('p', task('a', { title })))), title).toBe('balanced')
  })

  const graphviz = spawnSync('dot', ['-V']).error === undefined
  if (!graphviz)
    console.log('skipped: Graphviz is not installed, so `dot` is checked by our own reading of its quotes only')
  it.skipIf(!graphviz)('is read by Graphviz itself', () => {
    for (const title of ['plain', ...HOSTILE]) {
      const drawn = spawnSync('dot', ['-Tsvg'], {
        input: dot(plan('p', task('a', { title }), ...PLAN.tasks), STATUSES),
        encoding: 'utf8',
      })
      expect([title, drawn.status, drawn.stderr]).toEqual([title, 0, ''])
    }
  })
})

describe('SVG', () => {
  it('has a shape for every task, a diamond for a gate, dashed outcomes, and an arc for what leads back', () => {
    const picture = svg(PLAN, STATUSES)
    expect(picture).toMatch(
      /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="\d+" height="\d+" viewBox="0 0 \d+ \d+"/,
    )
    expect(picture.match(/<rect [^>]*rx="10"/g)).toHaveLength(6)
    expect(picture.match(/<polygon /g)).toHaveLength(2)
    expect(picture).toContain('<title>review · waiting</title>')
    expect(picture).toContain('<title>review: rejected → build/lint</title>')
    expect(wellFormed(picture)).toBe('well-formed')
  })

  it('shows text as text: nothing in it can run, load or lead anywhere', () => {
    const hostile = [...HOSTILE, '</text><script>alert(1)</script>', '" onload="alert(1)', 'a\u0000\u0007b\ufffe']
    const tasks = hostile.map((title, at) => task(`t${at}`, { title, on: { [`x${title}`]: 't0' } }))
    const picture = svg(plan('p', ...tasks, { title: '<script>alert(1)</script>' }))
    expect(wellFormed(picture)).toBe('well-formed')
  })
})

/** Only these tags, with only these attributes, and nothing in the text that XML would read. */
function wellFormed(picture: string): string {
  const open: string[] = []
  const ATTRIBUTE =
    /^(xmlns|width|height|viewBox|role|fill|x|y|rx|cx|cy|r|d|points|transform|stroke|stroke-width|stroke-dasharray|stroke-linecap|stroke-linejoin|font-family|font-size|font-weight|text-anchor)="[^"<>]*"$/
  for (const [part] of picture.matchAll(/<[^>]*>|[^<]+/g)) {
    if (!part.startsWith('<')) {
      const rest = part.replaceAll(/&(amp|lt|gt|quot);/g, '')
      if (/[&<>]/.test(rest) || /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u.test(part)) return part
      continue
    }
    const [, close, name, attributes, isEmpty] =
      /^<(\/?)(svg|g|title|rect|text|path|polygon|circle)\b(.*?)(\/?)>$/.exec(part) ?? []
    if (name === undefined) return part
    if (close === '/') {
      if (open.pop() !== name) return part
    } else if (isEmpty === '') open.push(name)
    const odd = (attributes!.match(/\S+="[^"]*"|\S+/g) ?? []).find(attribute => !ATTRIBUTE.test(attribute))
    if (odd !== undefined) return odd
  }
  return open.length === 0 ? 'well-formed' : open.join(' ')
}

describe('Markdown', () => {
  it('is a document with tasks, criteria and statuses', () => {
    const text = markdown(PLAN, STATUSES)
    for (const part of [
      '# Release\n\n> It is out\n',
      '- **Progress:** 3 of 5 tasks\n',
      '## Done when\n\n- People use it *(a person confirms)*\n',
      '### 2. [DONE] build/lint\n\n- **Status:** completed\n- **Does:** runs `true`\n',
      '### 4. [WAITING] review\n',
      '- **Leads:** rejected → `build/lint`\n',
      'Accepted when:\n\n- `curl -f localhost` *(command)*\n',
      '> Tell everybody.\n> \\# loudly\n',
    ])
      expect(text).toContain(part)
  })

  it('shows text as text', () => {
    const text = markdown(
      plan('p', task('a', { title: '<script>*x*</script> [l](javascript:0)', description: '```\n## no' })),
    )
    expect(text).toContain('— \\<script\\>\\*x\\*\\</script\\> \\[l\\](javascript:0)')
    expect(text).toContain('> \\`\\`\\`\n> \\#\\# no')
  })
})

describe('every picture', () => {
  const read = (text: string): PlanDefinition => {
    const parsed = parsePlan(text)
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
    return parsed.definition
  }

  it('remedies are edges; contracts and gates are told in words', () => {
    const definition = read(RECOVERY_PLAN)
    expect(dot(definition)).toContain('"build" -> "other-way" [style=dashed, label="alternate"]')
    expect(dot(definition)).toContain('"build" -> "fixer" [style=dashed, label="repair"]')
    const page = markdown(definition)
    for (const said of [
      '**When it fails:** what was done is undone, all files go back',
      'True afterwards:\n\n- `test -f out/app` *(command)*',
      '**Changes only:** `out/**`',
      'logic, flaky-net: alternate `other-way`',
      '**Timebox:** 30m',
      'asks the role `release` for approval, 2 of them',
      'asks a person to choose: One node, large',
    ])
      expect(page).toContain(said)
  })

  it('checkpoints, git and compensation are shown in every picture', () => {
    const definition = read(ROLLBACK_PLAN)
    const page = markdown(definition)
    for (const line of [
      '- **Git:** commits what each task wrote, a worktree for each task, messages `feat(plan): {title}`, begins at `main`',
      '- **Checkpoints:** every 5 tasks, before unsafe tasks, declared files only',
      '- **When it fails:** all stays as it is',
      '- **Does:** takes the checkpoint `before-deploy`',
      '- **Does:** takes a checkpoint',
      '- **Does:** tags `v1.2.0`',
      '- **Does:** merges the branch of `build`',
      '- **Undone by:** the task `undo-push`',
    ])
      expect(page).toContain(`${line}\n`)
    expect(page).not.toContain('**Leads:** compensate')
    expect(dot(definition)).toContain('"push" -> "undo-push" [style=dashed, label="compensate"]')
    expect(mermaid(definition)).toContain('t8 -.->|"compensate"| t9')
  })

  it('shows a plan stored when git tasks said anything', () => {
    const old = plan('p', task('a', { action: { type: 'git', spec: { push: 'origin' } } as unknown as Action }))
    expect(markdown(old)).toContain('- **Does:** git\n')
  })
})

const leavesOf = (items: ReturnType<typeof pictureOf>['top']): readonly TaskName[] =>
  items.flatMap(({ task: { id }, children }) => (children.length === 0 ? [id] : leavesOf(children)))

it('every picture shows every task and every edge of any plan, and none throws', () => {
  fc.assert(
    fc.property(planDefinition, fc.array(fc.constantFrom(...TASK_STATUSES), { maxLength: 8 }), (definition, words) => {
      const tasks = expandTasks(definition)
      const statuses = new Map(words.map((status, at) => [tasks[at % tasks.length]?.id ?? '', status] as const))
      const scene = pictureOf(definition, statuses)
      const names = new Set<TaskName>(tasks.map(({ id }) => id))
      expect(scene.items.length).toBe(names.size)
      const chart = readChart(mermaid(definition, statuses))
      expect(chart.nodes.size + chart.frames.size).toBe(names.size)
      // Those of a group stand inside its frame, in its order.
      expect([...chart.nodes.values()].map(({ label }) => label.split('\n')[0])).toEqual(leavesOf(scene.top))
      const graph = dot(definition, statuses)
      expect(quotesOf(graph)).toBe('balanced')
      expect(graph.split('\n').filter(line => / -> /.test(unquoted(line))).length).toBe(scene.edges.length)
      const drawn = svg(definition, statuses)
      expect(wellFormed(drawn)).toBe('well-formed')
      expect(drawn.match(/<g><title>/g)?.length ?? 0).toBe(names.size)
      const sections = markdown(definition, statuses).match(/^### \d+\./gm) ?? []
      expect(sections.length).toBe(names.size)
    }),
    { numRuns: Number(process.env.PLANFOLD_RUNS ?? 50) },
  )
})

it('does not exhaust the stack on a chain of 20,000', () => {
  const tasks = Array.from({ length: 20_000 }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] }))
  const long = plan('p', ...tasks)
  expect(mermaid(long).split('\n').length).toBe(1 + 20_000 + 19_999)
  expect(dot(long).split('\n').length).toBe(4 + 20_000 + 19_999)
  expect(svg(long).match(/<rect [^>]*rx="10"/g)).toHaveLength(20_000)
  expect(markdown(long).length).toBeGreaterThan(100_000)
})

const unquoted = (line: string): string => line.replace(/"(?:[^"\\]|\\.)*"/g, '""')

/** Outside of quotes only our own words may stand. */
function quotesOf(text: string): string {
  const odd = text
    .split('\n')
    .find(line => !/^[ \w{}[\]=,"#>-]*$/.test(unquoted(line)) || unquoted(line).replaceAll('""', '').includes('"'))
  return odd ?? 'balanced'
}
