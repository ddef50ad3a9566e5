// The two documents a plan leaves as Markdown: a short readme for the next person, and a postmortem. Built from the journal alone and,
// while the plan is unfinished, whether a process runs it: no clock, no folder, no machine name. So the same finished journal gives the
// same bytes. Text of people, plans and tasks is escaped.

import { placeText } from '../../domain/events/event-words.ts'
import { next, plainStep, type Step, type Wording, wordHint } from '../../domain/hint.ts'
import type { Millis, TaskName } from '../../domain/id.ts'
import { numberOf, reasonBesides } from '../../domain/phrases.ts'
import type { CommandLine, Criterion } from '../../domain/plan.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { planWord, type TaskStatus } from '../../domain/status.ts'
import { type HandedTask, type Handoff, isLeftOpen } from '../../domain/views/handoff.ts'
import { markdownCode as code, inCell, markdownText as text } from '../../safety/text/markdown.ts'

/** The first line of generated files: a file with it may be overwritten. */
export const HANDOFF_MARK = '<!-- planfold handoff -->'

const ROWS_MAX = 200

/** The path of an artifact beside the documents; null if it is not there. */
export type LinkTo = (sha256: string) => string | null
const NOWHERE: LinkTo = () => null

export interface Layout {
  readonly linkTo?: LinkTo
  readonly word?: Wording
  readonly now?: { readonly words: string; readonly interrupted: ReadonlySet<TaskName> }
}

/** A task marked running that no process runs was interrupted. */
function asShown(facts: Handoff, now: Layout['now']): Handed {
  const words = now?.words ?? planWord(facts.status)
  const status = ({ task, status: is }: HandedTask): ShownStatus => (now?.interrupted.has(task) ? 'interrupted' : is)
  return { ...facts, words, tasks: facts.tasks.map(task => ({ ...task, shown: status(task) })) }
}

type ShownStatus = TaskStatus | 'interrupted'
type ShownTask = HandedTask & { readonly shown: ShownStatus }
type Handed = Omit<Handoff, 'tasks'> & { readonly words: string; readonly tasks: readonly ShownTask[] }

export function readmeText(from: Handoff, { linkTo = NOWHERE, word = plainStep, now }: Layout = {}): string {
  const facts = asShown(from, now)
  const { name, tasks, goal } = facts
  const open = tasks.filter(isLeftOpen)
  const files = tasks.filter(({ changes }) => changes !== null)
  return document(`${facts.title ?? name}`, [
    goal === null ? [] : [`> ${text(goal)}`],
    [statusLine(facts)],
    section('Still open', [...open.map(openLine), ...waitingLines(facts)], 'Nothing.'),
    section('Decisions', facts.decisions.map(decisionLine)),
    section('Where things are', [
      `- Event log: ${numberOf(facts.version, 'entry')}, the last ${code(facts.head)}; ${code(word(next('audit', { plan: name })))}`,
      `- What tasks printed: ${code(word(next('log', { plan: name, task: 'TASK', output: true })))}`,
      ...(files.length === 0
        ? []
        : [
            `- Files: ${count(files.length, 'task')} made ${count(
              sum(files, ({ paths }) => paths),
              'file change',
            )}`,
          ]),
      ...tasks.flatMap(task => artifactLines(task, linkTo)),
      ...checkpointLines(facts, word),
      ...refLines(facts),
      ...(facts.place === null ? [] : [`- Works in ${code(facts.place)}`]),
      ...(facts.origin === null ? [] : [`- Made from plan ${code(facts.origin)}`]),
    ]),
    section('Next steps', goOn(facts, open, word)),
  ])
}

export function postmortemText(from: Handoff, { linkTo = NOWHERE, word = plainStep, now }: Layout = {}): string {
  const facts = asShown(from, now)
  const { tasks } = facts
  const again = tasks.filter(({ retries, visits }) => retries > 0 || visits > 1)
  return document(`Postmortem: ${facts.title ?? facts.name}`, [
    [statusLine(facts)],
    section('Request', [
      ...(facts.goal === null ? [] : [`- Goal: ${text(facts.goal)}`]),
      `- By ${text(facts.askedBy)}, ${time(facts.createdAt)}`,
      ...facts.done.map(each => `- Done when: ${criterion(each)}`),
      ...facts.revisions.map(
        ({ revision, at, by, hash, rationale }) =>
          `- Revision ${revision} ${code(hash.slice(0, 12))}, ${time(at)}, ${text(by)}${rationale === null ? '' : `: ${text(rationale)}`}`,
      ),
    ]),
    table(
      'Tasks',
      ['task', 'status', 'attempts', 'runs', 'work', 'files', 'log'],
      tasks.map(({ task, title, shown, attempts, visits, workMs, paths, log }) => [
        `${code(task)}${title === null ? '' : ` ${text(title, 200)}`}`,
        shown,
        String(attempts),
        String(visits),
        workMs === 0 ? '' : duration(workMs),
        paths === 0 ? '' : String(paths),
        log === null ? '' : code(log.sha256.slice(0, 12)),
      ]),
    ),
    section(
      'Checks',
      tasks.flatMap(({ task, verdicts }) =>
        verdicts.map(({ criterion: what, holds, evidence }) => {
          const word = holds === true ? 'passed' : holds === false ? 'failed' : 'was left to a person'
          return `- ${code(task)}: ${text(what)} ${word}${evidence === undefined ? '' : `; ${text(evidence, 300)}`}`
        }),
      ),
    ),
    section('Decisions', facts.decisions.map(decisionLine)),
    ...judgedSections(facts),
    section(
      'Failures',
      facts.setbacks.map(one => setbackLine(one, word)),
      'Nothing failed.',
    ),
    section(
      'Retries',
      again.map(
        ({ task, attempts, visits, shown }) =>
          `- ${code(task)}: ${count(attempts, 'attempt')} in ${count(visits, 'run')}, ${shown} in the end`,
      ),
    ),
    section(
      'Rolled back',
      facts.rollbacks.map(({ version, at, by, kind, to, how, paths, saved, message }) => {
        const what =
          kind === 'undo'
            ? 'the last rollback was undone'
            : kind === 'adopt'
              ? `the work of the fork ${code(to)} was adopted`
              : `to ${code(to)}`
        const kept = saved === null ? '' : `; the replaced versions are kept as ${code(saved)}`
        return `- ${time(at)}, entry ${version}, ${text(by)}: ${what}, ${how}, ${count(paths, 'path')}${kept}${message === null ? '' : `: ${text(message)}`}`
      }),
    ),
    section(
      'Undo steps',
      facts.compensations.map(
        ({ at, task, status, message }) =>
          `- ${time(at)} ${code(task)}: ${status}${message === null ? '' : `: ${text(message)}`}`,
      ),
    ),
    section('Duration', times(facts)),
    section('Still open', [...tasks.filter(isLeftOpen).map(openLine), ...waitingLines(facts)], 'Nothing.'),
    section(
      'Lessons',
      facts.notes.flatMap(({ at, by, task, text: said, about }) =>
        about === undefined || task === null
          ? []
          : [
              `- ${time(at)}, ${text(by)} about ${code(task)}, run ${about.visit}, attempt ${about.attempt}: ${text(said)}`,
            ],
      ),
    ),
    section(
      'Notes',
      facts.notes
        .filter(({ about }) => about === undefined)
        .map(
          ({ at, by, task, text: said, place }) =>
            `- ${time(at)}, ${text(by)}${task === null ? '' : `, ${code(task)}`}${place === undefined ? '' : `, ${text(placeText(place))}`}: ${text(said)}`,
        ),
    ),
    section('Where things are', [
      `- Event log: ${numberOf(facts.version, 'entry')}, the last ${code(facts.head)}`,
      ...tasks.flatMap(({ task, changes, beside = [] }) => {
        const doubt = `; ${beside.map(one => code(one)).join(', ')} ran at the same time, so it may be their work`
        return changes === null
          ? []
          : [`- Change set of ${code(task)}: ${code(changes)}${beside.length === 0 ? '' : doubt}`]
      }),
      ...tasks.flatMap(task => artifactLines(task, linkTo)),
      ...checkpointLines(facts, word),
      ...refLines(facts),
    ]),
  ])
}

function judgedSections(facts: Handed): readonly (readonly string[])[] {
  return [
    section(
      'Questions',
      facts.questions.map(({ at, by, task, text: asked, answer }) => {
        const where = task === null ? '' : ` at ${code(task)}`
        const said = answer === null ? 'not answered' : `${text(answer.by)}: ${text(JSON.stringify(answer.answers))}`
        return `- ${time(at)}, ${text(by)}${where}: ${text(asked)} — ${said}`
      }),
    ),
    section(
      'Proposals',
      facts.proposals.map(({ id, at, by, rationale, fate }) => {
        const how =
          fate === null
            ? 'not decided'
            : fate.how === 'void'
              ? `void: ${text(fate.rationale)}`
              : `${fate.how} by ${text(fate.by)}: ${text(fate.rationale)}`
        return `- ${time(at)}, ${text(by)}: ${code(id)} ${text(rationale)} — ${how}`
      }),
    ),
    section(
      'Recovery',
      facts.recoveries.map(({ at, task, reason }) => `- ${time(at)} ${code(task)}: ${text(reason)}`),
    ),
    section(
      'Escalations',
      facts.escalations.map(
        ({ at, task, why, to }) => `- ${time(at)} ${code(task)}: ${text(to ?? 'somebody')} was called (${why})`,
      ),
    ),
    facts.aborted === null ? [] : section('Aborted', [`- ${text(facts.aborted)}`]),
  ]
}

function document(title: string, parts: readonly (readonly string[])[]): string {
  const sections = parts.filter(({ length }) => length > 0).map(lines => lines.join('\n'))
  return `${[HANDOFF_MARK, `# ${text(title)}`, ...sections].join('\n\n')}\n`
}

function section(title: string, rows: readonly string[], none?: string): readonly string[] {
  if (rows.length === 0) return none === undefined ? [] : [`## ${title}`, '', none]
  const more = rows.length > ROWS_MAX ? [`- … and ${rows.length - ROWS_MAX} more, in the event log`] : []
  return [`## ${title}`, '', ...rows.slice(0, ROWS_MAX), ...more]
}

function table(title: string, heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(inCell).join(' | ')} |`
  const lines = [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.slice(0, ROWS_MAX).map(line)]
  const more = rows.length > ROWS_MAX ? ['', `… and ${rows.length - ROWS_MAX} more tasks, in the event log`] : []
  return rows.length === 0 ? [] : [`## ${title}`, '', ...lines, ...more]
}

function statusLine({ name, status, words, reason, tasks, startedAt, endedAt }: Handed): string {
  const counts = new Map<ShownStatus, number>()
  for (const { shown: each } of tasks) counts.set(each, (counts.get(each) ?? 0) + 1)
  const byStatus = Array.from(counts, ([each, number]) => `${number} ${each}`).join(', ')
  const took = startedAt === null || endedAt === null ? '' : ` in ${duration(endedAt - startedAt)}`
  const said = status === 'completed' ? '' : reasonBesides(status, reason)
  const why = said === '' ? '' : ` (${text(said)})`
  return `Plan ${code(name)}: **${text(words)}**${took}${why}. ${tasks.length === 0 ? 'It has no tasks yet' : `${count(tasks.length, 'task')}: ${byStatus}`}.`
}

function openLine({ task, title, shown, reason }: ShownTask): string {
  return `- ${code(task)}${title === null ? '' : ` ${text(title)}`}: ${shown}${reason === null || reason === '' ? '' : `, ${text(reason)}`}`
}

const waitingLines = ({ waiting, endedAt, questions, proposals }: Handed): readonly string[] => [
  ...waiting.map(
    ({ task, asks, since }) =>
      `- ${task === null ? '' : `${code(task)} `}waits for a person since ${time(since)}: ${WAITS_FOR[asks]}`,
  ),
  ...(endedAt === null ? [] : questions)
    .filter(({ answer }) => answer === null)
    .map(
      ({ id, at, by, task, text: asked }) =>
        `- question ${code(id)} of ${text(by)}${task === null ? '' : ` at ${code(task)}`}, ${time(at)}, not answered: ${text(asked)}`,
    ),
  ...(endedAt === null ? [] : proposals)
    .filter(({ fate }) => fate === null)
    .map(
      ({ id, at, by, rationale }) =>
        `- proposal ${code(id)} of ${text(by)}, ${time(at)}, not decided: ${text(rationale)}`,
    ),
]

const WAITS_FOR: { readonly [asks in Handoff['waiting'][number]['asks']]: string } = {
  approval: 'approval',
  consent: 'approval before it starts',
  verdict: 'to confirm its checks',
  decision: 'a decision',
  question: 'an answer',
  'agent-question': 'an answer to a question asked during the work',
  edits: 'a decision, because files it would revert were edited',
  'unknown-outcome': 'a decision, because its outcome is unknown',
  recovery: 'a decision, because it failed',
  replan: 'a changed plan, because it failed',
  proposal: 'a decision about a proposed revision',
  work: 'to be done',
  rollback: 'a decision, because the rollback stopped',
}

const decisionLine = ({
  version,
  at,
  by,
  task,
  proposal,
  verdict,
  rationale,
  said,
}: Handoff['decisions'][number]): string =>
  `- ${time(at)}, entry ${version}, ${text(by)}: ${task === null ? `proposal ${code(proposal ?? '')} ${verdict}${inBrackets(said)}` : decided(task, verdict, said)}${rationale === '' ? '' : `: ${text(rationale)}`}`

const inBrackets = (said: string | null): string => (said === null ? '' : ` (${text(said)})`)

function decided(task: TaskName, verdict: Handoff['decisions'][number]['verdict'], said: string | null): string {
  switch (verdict) {
    case 'again':
      return `${code(task)}: run again`
    case 'pushed-back':
      return `${code(task)}: changes requested${said === null ? '' : `, back to ${code(said)}`}`
    case 'done':
      return `${code(task)} confirmed as completed`
    case 'chosen':
      return `${code(task)}: ${text(said ?? '')} chosen`
    default:
      return `${code(task)} ${verdict}${inBrackets(said)}`
  }
}

function setbackLine(
  { at, task, visit, attempt, class: kind, message, hint }: Handoff['setbacks'][number],
  word: Wording,
): string {
  const which = visit > 1 ? `run ${visit}, attempt ${attempt}` : `attempt ${attempt}`
  return `- ${time(at)} ${code(task)} (${which}), ${kind}: ${text(message)}${hint === null ? '' : ` — ${text(wordHint(hint, word))}`}`
}

const artifactLines = ({ task, artifacts }: HandedTask, linkTo: LinkTo): readonly string[] =>
  artifacts.map(({ output, sha256 }) => {
    const path = linkTo(sha256)
    const there = path === null ? code(sha256) : `[${text(path)}](${encodeURI(path)}), ${code(sha256)}`
    return `- Artifact ${code(`${task}.${output}`)}: ${there}`
  })

function checkpointLines({ name, checkpoints, automatic }: Handed, word: Wording): readonly string[] {
  return [
    ...checkpoints.map(
      ({ name: called, version, at }) => `- Checkpoint ${code(called)}: entry ${version}, ${time(at)}`,
    ),
    ...(automatic === 0
      ? []
      : [`- ${count(automatic, 'checkpoint')} after tasks: ${code(word(next('checkpoints', { plan: name })))}`]),
  ]
}

const refLines = ({ refs }: Handed): readonly string[] =>
  refs.map(({ ref, commit }) => `- ${code(ref)}: ${commit === null ? 'removed again' : code(commit)}`)

function goOn({ name, status }: Handed, open: readonly HandedTask[], word: Wording): readonly string[] {
  const failed = open.find(each => each.status === 'failed')
  const ways: readonly (readonly [Step, string])[] = [
    ...(status === 'failed' && failed !== undefined
      ? ([[next('retry', { plan: name, task: failed.task }), 'run it again']] as const)
      : []),
    ...(status === 'completed' || status === 'failed' || status === 'cancelled'
      ? []
      : ([
          [next('resume', { plan: name }), 'continue'],
          [next('inbox'), 'what waits for a person'],
        ] as const)),
    [next('log', { plan: name }), 'what happened'],
    [next('rollback', { plan: name, dryRun: true }), 'what a rollback would do'],
  ]
  return ways.map(([step, means]) => `- ${code(word(step))}: ${means}`)
}

function times({ createdAt, startedAt, endedAt, lastAt, workMs }: Handed): readonly string[] {
  return [
    `- Created ${time(createdAt)}`,
    ...(startedAt === null ? [] : [`- Started ${time(startedAt)}`]),
    endedAt === null ? `- Last entry ${time(lastAt)}` : `- Ended ${time(endedAt)}`,
    ...(startedAt === null
      ? []
      : [
          `- From start to ${endedAt === null ? 'the last entry' : 'end'}: ${duration((endedAt ?? lastAt) - startedAt)}`,
        ]),
    `- Work of all attempts: ${duration(workMs)}`,
  ]
}

function criterion(one: Criterion): string {
  if (one.type === 'prose') return text(one.text)
  const prefix = one.text === undefined ? '' : `${text(one.text)}: `
  return `${prefix}${code(one.type === 'check' ? command(one.command) : criterionText(one))}`
}

const command = (line: CommandLine): string => ('argv' in line ? JSON.stringify(line.argv) : line.script)
const count = numberOf
const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0)

/** In UTC, so that the machine's time zone does not matter. */
const time = (at: Millis): string => `${new Date(at).toISOString().slice(0, 19)}Z`

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 100) / 10)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}
