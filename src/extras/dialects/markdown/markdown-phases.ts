// `markdown-phases`: `## Phase N: …` with tasks `### N.M Title`, or with a list. A phase is a milestone. Its tasks run side by
// side and wait for all of the phase before, unless `Depends:` says otherwise.

import type { TaskName } from '../../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Dialect, StatusOf } from '../../../format/plan/dialect.ts'
import { printed } from '../export-loss.ts'
import { EDGES_MAX, edgesByRank, needsByRank } from '../planstore/plan-steps-order.ts'
import { markdownLines, mayBeMarkdown } from './markdown-lines.ts'
import {
  bodyLines,
  childLines,
  dependsLines,
  oneLine,
  page,
  planHeading,
  printHead,
  printTail,
  type Section,
  sectionsOf,
  sectionText,
  tasksOf,
  titleText,
  writtenIds,
} from './markdown-print.ts'
import { type Kind, readMarkdown } from './markdown-read.ts'

const PHASE = /^phase[ \t]+(\d{1,6})\b[ \t]*(?:[:.–—-][ \t]*(.*))?$/isu
const NUMBERED = /^(?:(?:task|step)[ \t]+)?(\d{1,6}(?:\.\d{1,6}){1,4})[.:)]?[ \t]+(.*)$/is
/** A phase that is no milestone. */
const UNNAMED = '-'

const KIND: Kind = {
  style: {
    headed: (text, level) => {
      const match = level > 1 ? NUMBERED.exec(text) : null
      return match === null ? null : { number: match[1]!, box: null, text: match[2]! }
    },
    sectioned: (text, level) => level <= 2 || PHASE.test(text),
    listed: (item, section) => PHASE.test(section.title) && (item.box !== null || item.number !== null),
  },
  milestone: ({ title }) => {
    const match = PHASE.exec(title)
    if (match === null) return title === '' ? null : title
    if (match[2] === UNNAMED) return null
    return match[2] === undefined || match[2] === '' ? `Phase ${match[1]}` : match[2]
  },
  order: 'phases',
}

export const markdownPhases: Dialect = {
  name: 'markdown-phases',
  about: 'Markdown: ## Phase N with tasks ### N.M',
  recognises: source => {
    if (!mayBeMarkdown(source)) return false
    let inPhase = false
    for (const { form } of markdownLines(source)) {
      if (form.type === 'heading') {
        if (inPhase && NUMBERED.test(form.text)) return true
        inPhase ||= PHASE.test(form.text)
      } else if (inPhase && form.type === 'item' && (form.box !== null || form.number !== null)) return true
    }
    return false
  },
  read: source => readMarkdown(source, KIND),
  print: (definition, status) => printed(write(definition, status), definition, status, markdownPhases.read),
}

function write(definition: PlanDefinition, status: StatusOf): string {
  const tasks = tasksOf(definition)
  const phases = phasesOf(tasks)
  const numbers = phases.flatMap(({ members }, phase) => members.map((_, index) => `${phase + 1}.${index + 1}`))
  const ranks = phases.map(({ members }) => members.map(({ id }) => id))
  const depends = dependsLines(tasks, needsByRank(ranks), numbers)
  const written = writtenIds(tasks)
  const sections = sectionsOf(definition)
  const placed = new Set<Section>()
  let at = 0
  const body = phases.flatMap(({ milestone, members }, phase) => {
    const intro = sections.find(section => section.title === milestone && !placed.has(section))
    if (intro !== undefined) placed.add(intro)
    return [
      `## ${phaseHeading(milestone, phase + 1)}`,
      '',
      ...(intro === undefined ? [] : sectionText(intro.text)),
      ...members.flatMap(task => {
        const index = at++
        const below = {
          depends: depends[index]!,
          named: written.has(task.id),
          milestone: false,
          status: statusWord(status(task.id)),
        }
        const head = `### ${numbers[index]} ${titleText(task, 'plain')}`
        const inner = [...bodyLines(task, below), ...childLines(task, task.id as TaskName, status)]
        return [head, '', ...(inner.length === 0 ? [] : [...inner, ''])]
      }),
    ]
  })
  return page([...printHead(definition, planHeading(definition)), ...body, ...printTail(definition, placed)])
}

interface Phase {
  readonly milestone: string | undefined
  readonly members: TaskDefinition[]
}

function phasesOf(tasks: readonly TaskDefinition[]): readonly Phase[] {
  const phases: Phase[] = []
  for (const task of tasks) {
    const last = phases.at(-1)
    if (last !== undefined && last.milestone === task.milestone) last.members.push(task)
    else phases.push({ milestone: task.milestone, members: [task] })
  }
  // Phases too large to wait for each other could not be read again; then every task stands alone.
  const whole = edgesByRank(phases.map(({ members }) => members)) <= EDGES_MAX
  return whole ? phases : tasks.map(task => ({ milestone: task.milestone, members: [task] }))
}

function phaseHeading(milestone: string | undefined, number: number): string {
  if (milestone === `Phase ${number}`) return milestone
  return `Phase ${number}: ${milestone === undefined ? UNNAMED : oneLine(milestone)}`
}

/** Headings have no boxes, so everything that is not open is said in words. */
function statusWord(status: TaskStatus): TaskStatus | null {
  return status === 'pending' || status === 'ready' ? null : status
}
