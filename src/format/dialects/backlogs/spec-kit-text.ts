// The text of a `tasks.md` taken apart: its tasks, and what stands between them. What is quoted in a code block or hidden in a
// comment is no task.

export const TASK = /^(\s*)[-*] \[([ xX])\] \**(T-?(?:\d{1,6}[A-Za-z]?(?:\.\d{1,4})?|X{2,6}))\**[:.]?(?= |$)(.*)$/

/** A line that is a task, with the lines indented below it. */
export interface Item {
  /** Counted from 1. */
  readonly line: number
  /** The line as it stands, with its end. */
  readonly text: string
  readonly id: string
  readonly checked: boolean
  readonly parallel: boolean
  readonly stories: readonly string[]
  readonly title: string
  readonly dependsOn: readonly string[]
  readonly phase: string | null
  /** In which phase it stands, counted. */
  readonly phaseAt: number
  /** The lines indented below it, as they stand. */
  readonly more: string
}

export interface Parts {
  readonly title: string | undefined
  readonly items: readonly Item[]
  /** What stands before each task, and behind the last. */
  readonly between: readonly string[]
}

export function parts(text: string): Parts {
  const items: { -readonly [K in keyof Item]: Item[K] }[] = []
  const between: string[] = ['']
  let title: string | undefined
  let phase: string | null = null
  let phaseAt = 0
  let fence: string | null = null
  let comment = false
  let below = false
  for (const [index, line] of (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).entries()) {
    const bare = line.replace(/^\uFEFF|\r?\n$/g, '')
    const mark: string | undefined = /^\s*(```+|~~~+)/.exec(bare)?.[1]
    const hidden = fence !== null || comment || mark !== undefined
    if (mark !== undefined && !comment) fence = fence === null ? mark : mark.startsWith(fence) ? null : fence
    if (fence === null)
      comment = (comment || bare.includes('<!--')) && bare.lastIndexOf('-->') <= bare.lastIndexOf('<!--')
    const task = hidden ? null : TASK.exec(bare)
    if (task !== null) {
      items.push({ line: index + 1, text: line, phase, phaseAt, more: '', ...said(task) })
      between.push('')
      below = true
      continue
    }
    if (below && /^(?: {2,}|\t)\S/.test(bare)) {
      items.at(-1)!.more += line
      continue
    }
    below = false
    between[between.length - 1] += line
    if (hidden) continue
    const heading = /^(#{1,6}) +(.*\S)/.exec(bare)
    if (heading?.[1] === '#') title ??= /^Tasks: *(.+)$/.exec(heading[2]!)?.[1]
    if (heading?.[1] !== '##') continue
    phase = /^Phase\b[^:]*: *(.+)$/.exec(heading[2]!)?.[1] ?? null
    phaseAt++
  }
  return { title, items, between }
}

function said(task: RegExpExecArray): Pick<Item, 'id' | 'checked' | 'parallel' | 'stories' | 'title' | 'dependsOn'> {
  const [, , box, id, rest] = task
  let title = rest!.trim()
  let parallel = false
  const stories: string[] = []
  for (let tag = TAG.exec(title); tag !== null; tag = TAG.exec(title)) {
    if (tag[1] === 'P') parallel = true
    else stories.push(tag[1]!)
    title = title.slice(tag[0].length)
  }
  const dependsOn = [...title.matchAll(/\((?:depends on|requires|after) ([^()]{1,300})\)/gi)].flatMap(match =>
    [...match[1]!.matchAll(/\bT-?\d{1,6}[A-Za-z]?(?:\.\d{1,4})?\b/g)].map(([other]) => other),
  )
  return { id: id!, checked: box !== ' ', parallel, stories, title, dependsOn }
}

const TAG = /^\[(P|US\d{1,4})\] */
