// What one does with a whole log: search, download, and see it in the full width.

import { ArrowDown, ArrowUp, Download, Maximize2, Minimize2, Search } from 'lucide-react'
import { useDeferredValue, useMemo, useState } from 'react'
import { dateOf } from '../parts/words.ts'
import { plainLine } from '../terminal/terminal-line.ts'
import type { LogLine } from './log-lines.ts'

export interface LogSearch {
  readonly text: string
  readonly type: (text: string) => void
  readonly matches: readonly number[]
  /** The index of the row of the current match. */
  readonly at: number | null
  readonly place: number
  readonly step: (by: 1 | -1) => void
}

/** Begins at the last match: an error is more often at the end. */
export function useLogSearch(
  rows: readonly {
    readonly is: string
    readonly line: LogLine
    readonly block?: { readonly texts: readonly string[] }
  }[],
): LogSearch {
  const [{ text, steps }, set] = useState({ text: '', steps: 0 })
  const wanted = useDeferredValue(text).toLowerCase()
  const matches = useMemo(() => {
    if (wanted === '') return []
    const has = (one: string): boolean => one.toLowerCase().includes(wanted)
    return rows.flatMap(({ is, line, block }, at) =>
      is !== 'attempt' && (block === undefined ? has(plainLine(line.text)) : block.texts.some(has)) ? [at] : [],
    )
  }, [rows, wanted])
  const count = matches.length
  const place = count === 0 ? 0 : (((count - 1 + steps) % count) + count) % count
  return {
    text,
    matches,
    place,
    at: matches[place] ?? null,
    type: next => set({ text: next, steps: 0 }),
    step: by => set(before => ({ ...before, steps: before.steps + by })),
  }
}

export function LogTools({
  find,
  about,
  isWide,
  onWide,
  onDownload,
}: {
  readonly find: LogSearch
  readonly about: string
  readonly isWide: boolean
  readonly onWide: () => void
  readonly onDownload: () => void
}) {
  const WideIcon = isWide ? Minimize2 : Maximize2
  return (
    <div className="log-tools" data-wide={isWide}>
      <label className="find">
        <Search size={13} aria-hidden="true" />
        <span className="hidden">Search the log</span>
        <input
          type="search"
          placeholder="Search"
          value={find.text}
          onChange={event => find.type(event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Enter') find.step(event.shiftKey ? 1 : -1)
            if (event.key !== 'Escape' || find.text === '') return
            event.stopPropagation()
            find.type('')
          }}
        />
        {find.text !== '' && (
          <output>
            {find.matches.length === 0 ? 'none' : `${find.place + 1} of ${find.matches.length.toLocaleString('en')}`}
          </output>
        )}
      </label>
      {find.matches.length > 1 && (
        <>
          <button type="button" className="icon-button" aria-label="Match above" onClick={() => find.step(-1)}>
            <ArrowUp size={14} aria-hidden="true" />
          </button>
          <button type="button" className="icon-button" aria-label="Match below" onClick={() => find.step(1)}>
            <ArrowDown size={14} aria-hidden="true" />
          </button>
        </>
      )}
      <span className="num dim log-count">{about}</span>
      <button type="button" className="icon-button" aria-label="Download the log" title="Download" onClick={onDownload}>
        <Download size={14} aria-hidden="true" />
      </button>
      <button
        type="button"
        className="icon-button wide"
        aria-label="Full width"
        title="Full width"
        aria-pressed={isWide}
        onClick={onWide}
      >
        <WideIcon size={14} aria-hidden="true" />
      </button>
    </div>
  )
}

/** As text without control characters, because it may be shown in a terminal. */
export function download(task: string, lines: readonly LogLine[]): void {
  const url = URL.createObjectURL(new Blob([logText(lines)], { type: 'text/plain' }))
  Object.assign(document.createElement('a'), { href: url, download: `${task.replaceAll('/', '-')}.log` }).click()
  URL.revokeObjectURL(url)
}

export function logText(lines: readonly LogLine[]): string {
  const hasAttempts = new Set(lines.map(({ visit, attempt }) => `${visit}.${attempt}`)).size > 1
  return lines
    .map((line, at) => {
      const before = lines[at - 1]
      const isNew = hasAttempts && (before?.attempt !== line.attempt || before.visit !== line.visit)
      const head = isNew ? `--- attempt ${line.attempt}, ${dateOf(line.at)} ---\n` : ''
      return `${head}${plainLine(line.text, Number.POSITIVE_INFINITY)}\n`
    })
    .join('')
}
