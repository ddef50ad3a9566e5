// `markdown-checklist`: lists with boxes, `- [ ]` and `- [x]`. Boxes inside an item are its subplan, headings are milestones, and
// a line across the page ends one.

import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Dialect, StatusOf } from '../../../format/plan/dialect.ts'
import { printed } from '../export-loss.ts'
import { markdownLines, mayBeMarkdown } from './markdown-lines.ts'
import {
  checklist,
  oneLine,
  page,
  planHeading,
  printHead,
  printTail,
  type Section,
  sectionsOf,
  sectionText,
  tasksOf,
} from './markdown-print.ts'
import { type Kind, readMarkdown } from './markdown-read.ts'

const KIND: Kind = {
  style: {
    headed: () => null,
    sectioned: () => true,
    listed: item => item.box !== null,
  },
  milestone: ({ title, level }) => (level <= 1 || title === '' ? null : title),
  order: 'chain',
}

export const markdownChecklist: Dialect = {
  name: 'markdown-checklist',
  about: 'Markdown: lists of - [ ] and - [x], nested, below headings',
  recognises: source =>
    mayBeMarkdown(source) && markdownLines(source).some(({ form }) => form.type === 'item' && form.box !== null),
  read: source => readMarkdown(source, KIND),
  print: (definition, status) => printed(write(definition, status), definition, status, markdownChecklist.read),
}

function write(definition: PlanDefinition, status: StatusOf): string {
  const tasks = tasksOf(definition)
  const items = checklist(tasks, '', status, false)
  const sections = sectionsOf(definition)
  const placed = new Set<Section>()
  const lines: string[] = []
  let milestone: string | undefined
  for (const [index, task] of tasks.entries()) {
    if (task.milestone !== milestone) {
      if (lines.length > 0) lines.push('')
      lines.push(...opening(task, sections, placed))
      milestone = task.milestone
    }
    lines.push(...items[index]!)
  }
  return page([...printHead(definition, heading(definition)), ...lines, '', ...printTail(definition, placed)])
}

function opening({ milestone }: TaskDefinition, sections: readonly Section[], placed: Set<Section>): readonly string[] {
  if (milestone === undefined) return ['---', '']
  const intro = sections.find(section => section.title === milestone && !placed.has(section))
  if (intro !== undefined) placed.add(intro)
  return [`## ${oneLine(milestone)}`, '', ...(intro === undefined ? [] : sectionText(intro.text))]
}

/** `# Dark mode`, unless that would be read as `# Plan: …`. */
function heading(definition: PlanDefinition): string {
  const { title } = definition
  return title === undefined || /^plan\b/i.test(title) ? planHeading(definition) : `# ${oneLine(title)}`
}
