// A plan as one HTML file that opens from disk: how it went, its graph, tasks, decisions, changes and costs. No script, no address, no
// font of its own, and a policy in the file that allows nothing but its styles; every word of a plan is escaped.

import { reasonBesides } from '../../domain/phrases.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import type { Statuses } from '../../format/plan/scene.ts'
import type { ReportFacts } from '../../operations/pictures.ts'
import { svg } from './svg.ts'

const PATCH_LINES_MAX = 400

export function report({ definition, handoff, changes, tokens, cost }: ReportFacts): string {
  const { name, title, goal, status, reason, tasks } = handoff
  const statuses: Statuses = new Map(tasks.map(({ task, status }) => [task as string, status]))
  const done = tasks.filter(one => one.status === 'completed' || one.status === 'skipped').length
  const why = reasonBesides(status, reason)
  const facts: readonly (readonly [string, string])[] = [
    ['Status', why === '' ? status : `${status}: ${why}`],
    ['Tasks', `${done} of ${tasks.length} done`],
    ['Asked by', handoff.askedBy],
    ['Made', time(handoff.createdAt)],
    ...(handoff.startedAt === null ? [] : [['Started', time(handoff.startedAt)] as const]),
    ...(handoff.endedAt === null ? [] : [['Ended', time(handoff.endedAt)] as const]),
    ['Work', seconds(handoff.workMs)],
    ...(cost === null ? [] : [['Cost', `$${cost.toFixed(2)}`] as const]),
    ...(tokens === null ? [] : [['Tokens', String(tokens)] as const]),
    ['Journal', `${handoff.version} entries, the last is ${handoff.head.slice(0, 12)}`],
  ]
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(name)}: report</title>`,
    `<style>${STYLE}</style>`,
    '</head>',
    '<body>',
    `<h1><code>${escaped(name)}</code> ${escaped(title ?? '')}</h1>`,
    goal === null ? '' : `<p class="goal">${escaped(goal)}</p>`,
    `<dl>${facts.map(([term, words]) => `<div><dt>${term}</dt><dd>${escaped(words)}</dd></div>`).join('')}</dl>`,
    `<section><h2>Graph</h2><div class="graph">${svg(definition, statuses)}</div></section>`,
    section('Waits for', handoff.waiting, ({ task, asks, since }) =>
      row([task ?? 'the plan', asks, `since ${time(since)}`]),
    ),
    section('Done when', handoff.done, one => `<li>${escaped(criterionText(one))}</li>`, 'ul'),
    section(
      'Tasks',
      tasks,
      ({ task, title, status, attempts, workMs, reason, paths, verdicts }) =>
        row(
          [
            task,
            title ?? '',
            status,
            reason ?? '',
            attempts === 0 ? '' : `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
            workMs === 0 ? '' : seconds(workMs),
            paths === 0 ? '' : `${paths} changed`,
          ],
          status,
        ) +
        verdicts
          .map(({ criterion, holds, evidence }) =>
            row(
              [
                '',
                `${holds === true ? '✔' : holds === false ? '✖' : '?'} ${criterion}`,
                '',
                evidence ?? '',
                '',
                '',
                '',
              ],
              'verdict',
            ),
          )
          .join(''),
    ),
    section('Decisions', handoff.decisions, ({ at, by, task, verdict, rationale, said }) =>
      row([task ?? 'revision', verdict, said ?? '', by, rationale, time(at)]),
    ),
    changes.length === 0 ? '' : `<section><h2>Changes</h2>${changes.map(changesOf).join('')}</section>`,
    section('Setbacks', handoff.setbacks, ({ at, task, attempt, class: kind, message }) =>
      row([task, `attempt ${attempt}`, kind, message, time(at)]),
    ),
    section('Rollbacks', handoff.rollbacks, ({ at, by, kind, to, how, paths }) =>
      row([kind, `to ${to}`, how, `${paths} paths`, by, time(at)]),
    ),
    section('Notes', handoff.notes, ({ at, by, task, text }) => row([task ?? 'the plan', text, by, time(at)])),
    section('Revisions', handoff.revisions, ({ revision, at, by, rationale }) =>
      row([`revision ${revision}`, rationale ?? '', by, time(at)]),
    ),
    '</body>',
    '</html>',
    '',
  ]
    .filter(line => line !== '')
    .join('\n')
}

function section<T>(title: string, all: readonly T[], shown: (one: T) => string, as: 'table' | 'ul' = 'table'): string {
  if (all.length === 0) return ''
  return `<section><h2>${title}</h2><${as}>${all.map(shown).join('')}</${as}></section>`
}

const row = (cells: readonly string[], kind = ''): string =>
  `<tr${kind === '' ? '' : ` class="${kind}"`}>${cells.map(cell => `<td>${escaped(cell)}</td>`).join('')}</tr>`

function changesOf({ task, files, more }: ReportFacts['changes'][number]): string {
  const shown = files.map(({ path, patch }) => {
    const lines = (patch ?? []).slice(0, PATCH_LINES_MAX).map(line => {
      const kind = line.startsWith('+') ? 'add' : line.startsWith('-') ? 'remove' : ''
      return kind === '' ? escaped(line) : `<span class="${kind}">${escaped(line)}</span>`
    })
    const left = (patch?.length ?? 0) - PATCH_LINES_MAX
    if (left > 0) lines.push(`… ${left} more lines`)
    const patched = lines.length === 0 ? '' : `<pre>${lines.join('\n')}</pre>`
    return `<details open><summary><code>${escaped(path)}</code></summary>${patched}</details>`
  })
  const rest = more > 0 ? `<p>… and ${more} more files</p>` : ''
  return `<h3><code>${escaped(task)}</code></h3>${shown.join('')}${rest}`
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
const time = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`

const SIGNS: { readonly [sign: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Signs that cannot be seen, or that turn the direction of reading, are written out. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu
const escaped = (text: string): string =>
  text
    .replace(/[&<>"']/g, sign => SIGNS[sign]!)
    .replace(UNSEEN, sign => (sign === '\n' || sign === '\t' ? sign : `\\u{${sign.codePointAt(0)!.toString(16)}}`))

const STYLE = `
:root { color-scheme: light dark; --paper: #faf9f7; --surface: #fff; --ink: #1b1d23; --faint: #646872; --line: #e7e5df; --done: #177a4f; --fail: #cf3434; --wait: #8f5400 }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1115; --surface: #171a20; --ink: #eceef2; --faint: #868c98; --line: #242831; --done: #4cc38a; --fail: #ff7b78; --wait: #f2b84b } }
body { margin: 0 auto; max-width: 1080px; padding: 32px 20px 64px; background: var(--paper); color: var(--ink); font: 14px/20px system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 20px; line-height: 28px } h2 { font-size: 15px; margin: 32px 0 8px } h3 { font-size: 13px; margin: 16px 0 4px }
code, pre, td:first-child { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px }
dl { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 16px 0 } dt { color: var(--faint); font-size: 12px } dd { margin: 0 }
.goal { color: var(--faint); white-space: pre-wrap }
.graph, table, pre { border: 1px solid var(--line); border-radius: 10px; background: var(--surface); overflow-x: auto }
.graph svg { display: block; margin: auto; max-width: 100%; height: auto }
table { display: block; border-spacing: 0; padding: 4px 0 } td { padding: 5px 12px; vertical-align: top; color: var(--faint) }
td:first-child, td:nth-child(2) { color: var(--ink) }
tr.completed td:nth-child(3) { color: var(--done) } tr.failed td:nth-child(3) { color: var(--fail) } tr.waiting td:nth-child(3) { color: var(--wait) }
pre { padding: 10px 12px; margin: 6px 0 } .add { color: var(--done) } .remove { color: var(--fail) } summary { cursor: pointer }
@media print { body { max-width: none } }
`
